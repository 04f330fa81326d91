/**
 * Owns a Harness without a program, for the selftest: it answers a Turn with its own input and goes
 * on until it is told to finish or is cancelled. It proves the path to a Harness, never a Harness.
 */
import { deferred } from "../platform/deferred.ts";
import type {
  ActiveInput,
  Executor,
  HarnessAdapter,
  Settlement,
  StartedTurn,
  Turn,
  TurnStart,
} from "../harness/contract.ts";
import { UnknownInteraction } from "../harness/contract.ts";
import {
  CAPABILITY_NAMES,
  type CapabilityDeclaration,
  type CapabilityName,
} from "../protocol/capabilities.ts";
import { flattenText, type MessageInput } from "../protocol/message_input.ts";
import type { Done } from "../protocol/run_output.ts";

/** The words in an active input that end the Turn. */
export const FINISH = "finish";

/** What the echo can do; everything else is unsupported. */
const SUPPORTED: readonly CapabilityName[] = [
  "streaming",
  "steering",
  "durable_turns",
  "durable_input_receipts",
  "preparation",
  "execution_controls",
  "tool_observations",
  "environment_none",
];

/** The adapter of the kind `echo`. */
export const echoAdapter: HarnessAdapter = {
  kind: "echo",
  discover: () =>
    Promise.resolve({
      kind: "echo",
      available: true,
      version: "1",
      declaration: declaration(),
      factory: {
        checkConfiguration: () => undefined,
        checkInput: () => undefined,
        prepare: () => Promise.resolve(executor()),
      },
    }),
};

function declaration(): CapabilityDeclaration {
  const fields = CAPABILITY_NAMES.map((name) => [
    name,
    SUPPORTED.includes(name) ? "supported" : "unsupported",
  ]);
  return Object.fromEntries(fields);
}

function executor(): Executor {
  const retired = deferred<string>();
  let turn: EchoTurn | undefined;
  return {
    retired: retired.promise,
    startTurn(start: TurnStart): Promise<StartedTurn> {
      turn = new EchoTurn(start);
      return Promise.resolve({ turn });
    },
    async close() {
      await turn?.end();
      retired.resolve("closed");
    },
  };
}

class EchoTurn implements Turn {
  readonly #start: TurnStart;
  readonly #settled = deferred<Settlement>();
  #said = "";
  #ending: Promise<void> | undefined;

  constructor(start: TurnStart) {
    this.#start = start;
    void this.#say(start.input);
  }

  /** Ends the Turn once. */
  end(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  cancel(): Promise<void> {
    return this.end();
  }

  cancellationOutcome(): Done {
    return { content: this.#said };
  }

  awaitSettlement(): Promise<Settlement> {
    return this.#settled.promise;
  }

  async steerWithReceipt(
    { input }: ActiveInput,
    written: () => void,
  ): Promise<void> {
    written();
    const text = await this.#say(input);
    // The receipt comes first: `done` follows every receipt.
    if (text === FINISH) queueMicrotask(() => void this.end());
  }

  submitFunctionResult(): Promise<void> {
    return Promise.reject(new UnknownInteraction("the echo asks nothing"));
  }

  submitPermission(): Promise<void> {
    return Promise.reject(new UnknownInteraction("the echo asks nothing"));
  }

  submitUserChoice(): Promise<void> {
    return Promise.reject(new UnknownInteraction("the echo asks nothing"));
  }

  async #say(input: MessageInput): Promise<string> {
    const text = flattenText(input);
    if (!text.ok) return "";
    this.#said += text.value;
    await this.#start.sink.send({
      type: "delta",
      payload: { delta: text.value },
    });
    return text.value;
  }

  async #end(): Promise<void> {
    const { sink } = this.#start;
    await sink.send({ type: "done", payload: { content: this.#said } });
    sink.close();
    this.#settled.resolve({ reusable: true });
  }
}
