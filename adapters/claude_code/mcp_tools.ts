/**
 * Owns the MCP servers of one Executor: how they are declared to the program, that the required
 * ones are connected, and which of their tools the model may see. Status reports of the program
 * repeat bearer tokens: only names and states are read from them, and nothing of them is kept.
 */
import * as z from "zod";
import type { McpBinding } from "../../src/harness/contract.ts";
import { type Clock, sleep } from "../../src/platform/clock.ts";
import type { ControlChannel } from "./control_channel.ts";
import { FUNCTION_SERVER, nativeToolName } from "./kind.ts";
import { NATIVE_SETTINGS } from "./native_settings.ts";
import type { McpIdentity } from "./tool_observations.ts";

/** A required server is not connected, or a server cannot be held to its declaration. */
export class McpUnavailable extends Error {
  override readonly name = "McpUnavailable";
}

/** A required server has this long to connect, from the program's start. */
const REQUIRED_MILLISECONDS = 30_000;
/** An optional server that is slower than this is left out. */
const OPTIONAL_MILLISECONDS = 10_000;
/** Between two looks at the connections. */
const POLL_MILLISECONDS = 50;
const CONTROL_MILLISECONDS = 10_000;

const status = z.object({
  mcpServers: z.array(z.object({
    name: z.string(),
    status: z.string(),
    tools: z.array(z.object({ name: z.string() })).optional(),
  })),
});

type Status = z.output<typeof status>["mcpServers"][number];

/** The servers in the form of the program's `initialize`. Holds secrets. */
export function mcpDeclarations(
  bindings: readonly McpBinding[],
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    bindings.map((binding) => [binding.label, declaration(binding)]),
  );
}

/**
 * An explicit Authorization header, even empty, keeps the program from its own OAuth attempts. The
 * server's own headers may hold one, but never beside a bearer.
 */
function declaration(binding: McpBinding): unknown {
  if (binding.transport === "http") {
    const { bearerToken, headers = {} } = binding;
    const isAuthorized = Object.keys(headers).some((name) =>
      name.toLowerCase() === "authorization"
    );
    const authorization = bearerToken === undefined
      ? isAuthorized ? {} : { Authorization: "" }
      : { Authorization: `Bearer ${bearerToken}` };
    return {
      type: "http",
      url: binding.url,
      headers: { ...headers, ...authorization },
      alwaysLoad: true,
    };
  }
  return {
    type: "stdio",
    command: binding.command,
    args: [...binding.arguments],
    env: { ...binding.environment },
    alwaysLoad: true,
  };
}

/** The tools of the connected servers. */
export class McpTools {
  readonly #identities = new Map<string, McpIdentity>();
  readonly #labels: ReadonlySet<string>;
  readonly #unrestricted: readonly string[];

  constructor(private readonly bindings: readonly McpBinding[]) {
    this.#labels = new Set(bindings.map(({ label }) => label));
    this.#unrestricted = bindings.filter((each) => each.allowedTools === null)
      .map(({ label }) => label);
  }

  /** Whether a server of this name was configured. */
  declares(server: string): boolean {
    return this.#labels.has(server);
  }

  /** The server and tool behind a native name that the model may use. */
  identity(name: string): McpIdentity | undefined {
    const known = this.#identities.get(name);
    if (known) return known;
    // A server without restriction may announce a tool later.
    for (const server of this.#unrestricted) {
      const prefix = nativeToolName(server, "");
      if (name.startsWith(prefix) && name.length > prefix.length) {
        return { server, tool: name.slice(prefix.length) };
      }
    }
    return undefined;
  }

  /**
   * Waits for the servers, leaves failed optional ones out, and hides what is not allowed.
   *
   * @throws {McpUnavailable} when a required server is not connected in time.
   */
  async settle(control: ControlChannel, clock: Clock): Promise<void> {
    if (this.bindings.length === 0) return;
    const connected = await this.#connected(control, clock);
    const denied: string[] = [];
    for (const binding of this.bindings) {
      const server = connected.get(binding.label);
      if (!server) {
        await control.request("mcp_toggle", {
          serverName: binding.label,
          enabled: false,
        }, CONTROL_MILLISECONDS);
        continue;
      }
      denied.push(...this.#select(binding, server));
    }
    if (denied.length === 0) return;
    // Whole: the request may replace what the launch has set.
    await control.request("apply_flag_settings", {
      settings: { ...NATIVE_SETTINGS, permissions: { deny: denied } },
    }, CONTROL_MILLISECONDS);
  }

  /** Records the allowed tools of a server and returns the native names of the others. */
  #select(binding: McpBinding, server: Status): readonly string[] {
    const denied: string[] = [];
    const allowed = binding.allowedTools;
    for (const { name: tool } of server.tools ?? []) {
      const native = nativeToolName(binding.label, tool);
      if (allowed !== null && !allowed.includes(tool)) {
        denied.push(native);
        continue;
      }
      if (this.#identities.has(native)) {
        throw new McpUnavailable("Two MCP tools have one native name");
      }
      this.#identities.set(native, { server: binding.label, tool });
    }
    if (denied.some((name) => this.#identities.has(name))) {
      throw new McpUnavailable("Two MCP tools have one native name");
    }
    return denied;
  }

  async #connected(
    control: ControlChannel,
    clock: Clock,
  ): Promise<ReadonlyMap<string, Status>> {
    const start = clock.monotonic();
    for (;;) {
      const servers = await mcpStatus(control);
      const waited = clock.monotonic() - start;
      let waiting = false;
      for (const { label, required } of this.bindings) {
        const state = servers.get(label)?.status ?? "pending";
        if (state === "connected") continue;
        if (state === "pending") {
          const limit = required
            ? REQUIRED_MILLISECONDS
            : OPTIONAL_MILLISECONDS;
          if (waited < limit) {
            waiting = true;
            continue;
          }
        }
        if (required) {
          throw new McpUnavailable("A required MCP server is not connected");
        }
      }
      if (!waiting) {
        return new Map(
          [...servers].filter(([, each]) => each.status === "connected"),
        );
      }
      await sleep(clock, POLL_MILLISECONDS);
    }
  }
}

/** Waits until the program has connected the in-process function server. */
export async function settleFunctionServer(
  control: ControlChannel,
  clock: Clock,
): Promise<void> {
  const start = clock.monotonic();
  for (;;) {
    const server = (await mcpStatus(control)).get(FUNCTION_SERVER);
    if (server?.status === "connected") return;
    const failed = server !== undefined && server.status !== "pending";
    if (failed || clock.monotonic() - start > OPTIONAL_MILLISECONDS) {
      throw new McpUnavailable("The functions are not connected");
    }
    await sleep(clock, POLL_MILLISECONDS);
  }
}

async function mcpStatus(
  control: ControlChannel,
): Promise<ReadonlyMap<string, Status>> {
  const answer = await control.request("mcp_status", {}, CONTROL_MILLISECONDS);
  const read = status.safeParse(answer);
  if (!read.success) throw new McpUnavailable("The MCP status is malformed");
  return new Map(read.data.mcpServers.map((server) => [server.name, server]));
}
