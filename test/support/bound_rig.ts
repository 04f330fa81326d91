/**
 * The whole daemon bound to a workspace, with the real Harness program behind it and a Core on
 * loopback: initialises an Environment over the wire and runs Turns in it.
 */
import { assert, assertEquals } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import {
  type LoopbackRig,
  openLoopbackRig,
} from "../../src/cli/loopback_rig.ts";
import { systemOutside } from "../../src/cli/outside.ts";
import type { HarnessAdapter } from "../../src/harness/contract.ts";
import { sessionConfiguration } from "../../src/loopback/admission_rules.ts";
import type { RunOutcome } from "../../src/loopback/observed_run.ts";
import type { RunEvent } from "../../src/loopback/run_events.ts";
import { WorkspaceClient } from "../../src/loopback/workspace_client.ts";
import type { CapabilitySources } from "../../src/protocol/sources.ts";
import { zip } from "../environment/support.ts";
import { RecordingLog } from "./recording_log.ts";

const scratch = fromFileUrl(new URL("../../.harness/tmp", import.meta.url));

/** What an installed variable is set to. */
export const INSTALLED_VALUE = "installed-value-4711";

/** A shell command that does the work of a test once the installed server is known. */
export const WORK = [
  "until [ -e listed ]; do sleep 0.1; done",
  "mkdir -p outputs",
  "cat given.txt > outputs/result.txt",
  'printf %s "$INIT_VARIABLE" >> outputs/result.txt',
].join("; ");

/** A Turn that has ended. */
export interface EndedTurn {
  readonly outcome: RunOutcome;
  readonly events: readonly RunEvent[];
}

/** See the file comment. */
export class BoundRig implements AsyncDisposable {
  readonly log = new RecordingLog();
  readonly #outside = systemOutside();
  readonly #kind: string;
  readonly #identity = {
    environmentId: this.#outside.ids.uuid(),
    sessionId: this.#outside.ids.uuid(),
  };
  #rig: LoopbackRig | undefined;

  private constructor(readonly root: string, kind: string) {
    this.#kind = kind;
  }

  static async open(
    adapter: HarnessAdapter,
    program: string,
  ): Promise<BoundRig> {
    await Deno.mkdir(scratch, { recursive: true });
    const root = await Deno.makeTempDir({ dir: scratch });
    const bound = new BoundRig(root, adapter.kind);
    await Deno.mkdir(bound.workspace);
    const stateDirectory = join(root, "state");
    await Deno.mkdir(stateDirectory, { mode: 0o700 });
    bound.#rig = await openLoopbackRig({
      adapter,
      program,
      outside: bound.#outside,
      log: bound.log,
      stateDirectory,
      bound: { ...bound.#identity, root: bound.workspace },
    });
    return bound;
  }

  get rig(): LoopbackRig {
    assert(this.#rig);
    return this.#rig;
  }

  get workspace(): string {
    return join(this.root, "workspace");
  }

  get client(): WorkspaceClient {
    const identity = { agentKind: this.#kind, ...this.#identity };
    return new WorkspaceClient(this.rig.session, identity, this.#outside.ids);
  }

  /** Installs a variable, a Skill and a plugin with an MCP server, and seals them. */
  async initialize(): Promise<CapabilitySources> {
    const skill = {
      type: "inline",
      name: "installed-skill",
      description: "Knows the canary of the installed skill",
    };
    const plugin = {
      type: "inline",
      name: "installed-plugin",
      description: "Brings a server",
    };
    const sources = { skills: [skill], plugins: [plugin] };
    const { client } = this;
    const steps = [
      client.initialize({
        action: "initialize",
        initialization: {
          action: "configure",
          env: {
            INIT_VARIABLE: INSTALLED_VALUE,
            LISTED: join(this.workspace, "listed"),
          },
        },
      }),
    ];
    assertEquals(await steps[0], { kind: "completed" });
    assertEquals(
      await client.initialize({ action: "skill", skill }, await skillArchive()),
      { kind: "completed" },
    );
    assertEquals(
      await client.initialize(
        { action: "plugin", plugin, slot: 0 },
        await pluginArchive(),
      ),
      { kind: "completed" },
    );
    assertEquals(await client.initialize({ action: "finalize", sources }), {
      kind: "completed",
    });
    return sources;
  }

  /** Runs one Turn in the bound workspace. */
  async turn(
    prompt: string,
    agentOptions: Readonly<Record<string, unknown>>,
    sources: CapabilitySources,
  ): Promise<EndedTurn> {
    const { session, declaration } = this.rig;
    const { sessionId, environmentId } = this.#identity;
    const preparation = session.prepare({
      sessionId,
      configuration: {
        ...sessionConfiguration({
          agentKind: this.#kind,
          sessionId,
          agentOptions,
          localEnvironment: {
            id: environmentId,
            workspace_directory: "/workspace",
            capability_sources: sources,
            tool_environment: true,
          },
        }, declaration),
      },
    });
    const ready = await preparation.ready;
    assertEquals(ready.kind, "ready", this.log.text);
    const run = session.start(preparation, {
      input: [{ content: [{ type: "input_text", text: prompt }] }],
    });
    const events: RunEvent[] = [];
    for await (const event of run) events.push(event);
    return { outcome: await run.outcome, events };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#rig?.close();
    await Deno.remove(this.root, { recursive: true });
  }
}

function skillArchive(): Promise<Uint8Array> {
  return zip([{
    name: "skill/SKILL.md",
    text:
      "---\nname: installed-skill\ndescription: Knows the canary of the installed skill\n---\nSkill body canary.\n",
  }]);
}

async function pluginArchive(): Promise<Uint8Array> {
  const server = new URL("./stdio_mcp_server.js", import.meta.url);
  return await zip([
    {
      name: "plugin/.codex-plugin/plugin.json",
      text: JSON.stringify({
        name: "installed-plugin",
        description: "Brings a server",
      }),
    },
    {
      name: "plugin/.mcp.json",
      text: JSON.stringify({
        mcpServers: {
          speaker: {
            command: "node",
            args: ["server.js"],
            env_vars: ["INIT_VARIABLE", "LISTED"],
          },
        },
      }),
    },
    { name: "plugin/package.json", text: '{"type":"module"}' },
    { name: "plugin/server.js", text: await Deno.readTextFile(server) },
  ]);
}
