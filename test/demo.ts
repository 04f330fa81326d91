/**
 * Three Turns of a real Harness through the whole daemon: a streamed answer, an input into a running
 * Turn with both receipts, a cancellation with its outcome. Needs no account: the model is a
 * provider on loopback. `deno task demo [codex|claude]`; installs the Harness from npm when absent.
 */
import { fromFileUrl } from "@std/path";
import { codexAdapter } from "../adapters/codex/mod.ts";
import { claudeCodeAdapter } from "../adapters/claude_code/adapter.ts";
import { DemoProvider } from "../src/cli/demo_provider.ts";
import { type LoopbackRig, openLoopbackRig } from "../src/cli/loopback_rig.ts";
import { systemOutside } from "../src/cli/outside.ts";
import { describeOutcome, describeRefusal } from "../src/cli/turn_report.ts";
import type { HarnessAdapter } from "../src/harness/contract.ts";
import { sessionConfiguration } from "../src/loopback/admission_rules.ts";
import type { ObservedRun } from "../src/loopback/observed_run.ts";
import { within } from "../src/platform/clock.ts";
import { silentLog } from "../src/platform/log.ts";
import type { Done } from "../src/protocol/run_output.ts";
import { ensureNativePrograms } from "./support/native_programs.ts";

/** The longest a Turn of the demo may take, in milliseconds; none waits for a network. */
const TURN_LIMIT = 60_000;

const outside = systemOutside();

/** Something the demo set out to prove did not happen. */
class NotProven extends Error {
  override readonly name = "NotProven";
}

function say(text: string): void {
  outside.stdout.write(`${text}\n`);
}

/** One Session of the demo. */
class Demo {
  readonly #rig: LoopbackRig;
  readonly #adapter: HarnessAdapter;
  readonly #provider: DemoProvider;
  readonly #sessionId = outside.ids.uuid();
  #nativeSession: string | undefined;

  constructor(
    rig: LoopbackRig,
    adapter: HarnessAdapter,
    provider: DemoProvider,
  ) {
    this.#rig = rig;
    this.#adapter = adapter;
    this.#provider = provider;
  }

  async streamed(): Promise<void> {
    const run = await this.#start("Say hello.");
    outside.stdout.write('   "');
    const parts = await this.#follow(run, (part) => outside.stdout.write(part));
    say('"');
    const outcome = await run.outcome;
    if (outcome.kind !== "completed") {
      throw new NotProven(describeOutcome(outcome));
    }
    this.#remember(outcome.done);
    require(parts.length > 1, "the answer did not arrive in parts");
    require(
      parts.join("") === outcome.done.content,
      "the parts are not the answer",
    );
    say(
      `1. streamed: ${parts.length} deltas before done, together the final text; ${
        describeOutcome(outcome)
      }`,
    );
  }

  async steered(): Promise<void> {
    const finish = this.#provider.holdNext();
    const run = await this.#start("Begin something long.");
    const begun = Promise.withResolvers<void>();
    const following = this.#follow(run, () => begun.resolve());
    following.catch(() => {}); // a failure before it is awaited is reported by its cause
    await begun.promise;
    const words = `steered-${outside.ids.hex(4)}`;
    const delivery = this.#rig.session.steer(run.runId, "1", [{
      content: [{ type: "input_text", text: words }],
    }]);
    require(await delivery.written, "the input was not written");
    say("2. steered: written, the engine's pipe took the whole input");
    finish();
    const receipt = await delivery.settled;
    require(receipt.kind === "accepted", `the input is ${receipt.kind}`);
    say("   steered: accepted, the engine took the input into the Turn");
    await following;
    const outcome = await run.outcome;
    if (outcome.kind !== "completed") {
      throw new NotProven(describeOutcome(outcome));
    }
    this.#remember(outcome.done);
    const request = this.#provider.requestTexts()
      .findIndex((text) => text.includes(words));
    require(request >= 0, "no request to the model held the input");
    say(
      `   steered: ${
        describeOutcome(outcome)
      }, after both receipts; model request ${request + 1} held the input`,
    );
  }

  async cancelled(): Promise<void> {
    this.#provider.holdNext();
    const run = await this.#start("Begin something endless.");
    const begun = Promise.withResolvers<void>();
    const following = this.#follow(run, () => begun.resolve());
    following.catch(() => {}); // a failure before it is awaited is reported by its cause
    await begun.promise;
    const receipt = await this.#rig.session.cancel(run.runId);
    if (receipt.kind !== "applied") {
      throw new NotProven(`the cancellation is ${receipt.kind}`);
    }
    await following;
    const outcome = await run.outcome;
    require(outcome.kind === "cancelled", describeOutcome(outcome));
    const partial = JSON.stringify(receipt.outcome?.content ?? "");
    say(
      `3. cancelled: applied after native settlement, partial text ${partial}`,
    );
  }

  /** Prepares and starts a Turn of this Session. */
  async #start(text: string): Promise<ObservedRun> {
    const { session, declaration } = this.#rig;
    const preparation = session.prepare({
      sessionId: this.#sessionId,
      configuration: sessionConfiguration({
        agentKind: this.#adapter.kind,
        sessionId: this.#sessionId,
        agentOptions: this.#provider.agentOptions(),
        ...(this.#nativeSession ? { agentSessionId: this.#nativeSession } : {}),
      }, declaration),
    });
    const ready = await preparation.ready;
    if (ready.kind !== "ready") throw new NotProven(describeRefusal(ready));
    return session.start(preparation, {
      input: [{ content: [{ type: "input_text", text }] }],
    });
  }

  async #follow(
    run: ObservedRun,
    onDelta: (text: string) => void,
  ): Promise<string[]> {
    const parts: string[] = [];
    for await (const event of run) {
      if (event.type !== "delta") continue;
      parts.push(event.payload.delta);
      onDelta(event.payload.delta);
    }
    return parts;
  }

  /** The next preparation continues exactly this native Session. */
  #remember({ metadata }: Done): void {
    const id = metadata?.["agent_session_id"];
    if (typeof id === "string") this.#nativeSession = id;
  }
}

function require(condition: boolean, otherwise: string): asserts condition {
  if (!condition) throw new NotProven(otherwise);
}

async function demonstrate(
  adapter: HarnessAdapter,
  program: string,
  stateDirectory: string,
): Promise<void> {
  const kind = adapter.kind === "codex" ? "codex" : "claude_sdk";
  await using provider = DemoProvider.start(kind);
  const rig = await openLoopbackRig({
    adapter,
    program,
    outside,
    log: silentLog,
    stateDirectory,
  });
  say(`${kind} ${rig.harness.version ?? ""}: ${program}`);
  const demo = new Demo(rig, adapter, provider);
  const turns = async () => {
    await demo.streamed();
    await demo.steered();
    await demo.cancelled();
  };
  try {
    await within(outside.clock, 3 * TURN_LIMIT, "the demo", turns());
  } finally {
    await rig.close();
  }
  const left = rig.children.names();
  require(left.length === 0, `still running: ${left.join(", ")}`);
  say("4. stopped: the daemon owns nothing and no native process is left");
}

async function main(name: string | undefined): Promise<number> {
  const adapter = { codex: codexAdapter, claude: claudeCodeAdapter }[
    name ?? "codex"
  ];
  if (!adapter) {
    outside.stderr.write("demo: name codex or claude\n");
    return 64;
  }
  // Beside the installed programs: an ignored folder, and not the system's temporary one.
  const folder = fromFileUrl(new URL("../.harness", import.meta.url));
  await Deno.mkdir(folder, { recursive: true });
  const stateDirectory = await Deno.makeTempDir({ dir: folder });
  try {
    const programs = await ensureNativePrograms();
    const program = programs[adapter === codexAdapter ? "codex" : "claude"];
    await demonstrate(adapter, program, stateDirectory);
    return 0;
  } catch (error) {
    const [line] = (error as Error).message.split("\n");
    outside.stderr.write(`demo: ${line}\n`);
    return 1;
  } finally {
    await Deno.remove(stateDirectory, { recursive: true });
  }
}

Deno.exit(await main(Deno.args[0]));
