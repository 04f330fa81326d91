import type { Child } from "../../../src/harness/child.ts";
import { WriteNotStarted } from "../../../src/harness/child.ts";
import type {
  DiscoveryContext,
  Executor,
  PreparedConfiguration,
  StartedTurn,
  TurnStart,
} from "../../../src/harness/contract.ts";
import { deferred } from "../../../src/platform/deferred.ts";
import { flattenText } from "../../../src/protocol/message_input.ts";
import { aborted } from "./aborted.ts";
import { type NativeMessage, nativeMessage } from "./native_messages.ts";
import { ScriptedTurn } from "./turn.ts";

/** One scripted process and its Turns, one at a time. */
export class ScriptedExecutor implements Executor {
  readonly retired: Promise<string>;
  readonly #retired = deferred<string>();
  readonly #greeting = deferred<string>();
  readonly #child: Child;
  readonly #context: DiscoveryContext;
  readonly #configuration: PreparedConfiguration;
  readonly #reading: Promise<void>;
  #closeFailures: number;
  #turns = 0;
  #active: ScriptedTurn | undefined;
  #session = "";
  #lost = false;

  /** Takes `child` over; `closeFailures` closes reject before one is tried. */
  constructor(
    child: Child,
    context: DiscoveryContext,
    configuration: PreparedConfiguration,
    closeFailures: number,
  ) {
    this.#child = child;
    this.#context = context;
    this.#configuration = configuration;
    this.#closeFailures = closeFailures;
    this.retired = this.#retired.promise;
    this.#reading = this.#read();
  }

  /** Resolves when the program is ready for the first Turn. No input is sent. */
  async greet(home: string, owner: AbortSignal): Promise<void> {
    const { agentSessionId, requireExistingNativeSession } =
      this.#configuration;
    const onAbort = () => this.#greeting.reject(owner.reason);
    owner.addEventListener("abort", onAbort, { once: true });
    try {
      await this.#child.write({
        type: "hello",
        home,
        provider: this.#configuration.modelProvider,
        servers: this.#configuration.mcpServers,
        system: this.#configuration.systemPrompt,
        resume: agentSessionId,
        continue: requireExistingNativeSession || agentSessionId !== undefined,
      }, owner);
      this.#session = await this.#greeting.promise;
    } finally {
      owner.removeEventListener("abort", onAbort);
    }
    if (agentSessionId !== undefined && agentSessionId !== this.#session) {
      throw new Error("The program continues another history");
    }
  }

  async startTurn(start: TurnStart): Promise<StartedTurn> {
    if (start.signal.aborted) return { error: new Error("Start cancelled") };
    if (this.#retired.settled) return { error: new Error("Retired") };
    if (this.#active && !this.#active.settled) {
      return { error: new Error("A Turn runs") };
    }
    const text = flattenText(start.input);
    if (!text.ok) return { error: new Error(text.reason) };
    // The Turn is owned before anything is written: an uncertain write still has its owner.
    const turn = new ScriptedTurn(`turn-${++this.#turns}`, {
      session: this.#session,
      sink: start.sink,
      child: this.#child,
      context: this.#context,
      configuration: this.#configuration,
      retire: (reason) => this.#retired.resolve(reason),
    });
    this.#active = turn;
    try {
      await this.#child.write(
        { type: "turn", turn: turn.id, text: text.value },
        start.signal,
      );
    } catch (cause) {
      const error = new Error("The start failed", { cause });
      this.#retired.resolve("native_execution_unavailable");
      if (cause instanceof WriteNotStarted) {
        this.#active = undefined;
        return { error };
      }
      await this.#lose();
      return { turn, error };
    }
    return { turn };
  }

  async close(signal: AbortSignal): Promise<void> {
    this.#retired.resolve("closed");
    if (this.#closeFailures > 0) {
      this.#closeFailures -= 1;
      throw new Error("The close was told to fail");
    }
    const closing = this.#child.close().then(() => this.#reading);
    await Promise.race([closing, aborted(signal)]);
  }

  async #read(): Promise<void> {
    try {
      for await (const value of this.#child.messages) {
        const message = nativeMessage.safeParse(value);
        if (message.success) await this.#handle(message.data);
      }
    } catch (error) {
      this.#context.log.warn("contract.stream_broken", {
        error: error instanceof Error ? error : String(error),
      });
    }
    await this.#lose();
  }

  async #handle(message: NativeMessage): Promise<void> {
    switch (message.type) {
      case "ready":
        return this.#greeting.resolve(message.session);
      case "refused":
        return this.#greeting.reject(new Error("The program refused"));
      default:
        // Messages of an earlier Turn come late and belong to nobody any more.
        if ("turn" in message && message.turn !== this.#active?.id) return;
        await this.#active?.handle(message);
    }
  }

  /** The stream ended: whatever ran ended with the process, without a proof of its outcome. */
  async #lose(): Promise<void> {
    if (this.#lost) return;
    this.#lost = true;
    if (!this.#retired.settled) {
      const stderr = this.#child.stderrTail();
      this.#context.log.warn("contract.process_lost", { stderr });
    }
    this.#retired.resolve("native_execution_unavailable");
    this.#greeting.reject(new Error("The program ended"));
    this.#child.kill();
    await this.#child.exited;
    await this.#active?.lose();
  }
}
