/**
 * Owns a model provider on loopback that needs no account: it answers every request with a fixed
 * text, holds an answer open, never ends one, or lets a command run first, as it is told.
 */
import { type Deferred, deferred } from "../platform/deferred.ts";
import {
  MessagesProvider,
  textReply,
  toolReply,
} from "../loopback/messages_provider.ts";
import {
  callAnswer,
  ResponsesProvider,
  textAnswer,
} from "../loopback/responses_provider.ts";

/** The kinds that the provider can stand behind. */
export type DemoKind = "codex" | "claude_sdk";

/** What the next request gets. */
type Mode =
  | { readonly kind: "answer" }
  /** The answer ends when the gate opens; the requests after it are answered at once. */
  | { readonly kind: "held"; readonly gate: Promise<void> };

/** The parts in which an answer arrives, so that streaming can be seen. */
const ANSWER = [
  "This answer ",
  "was streamed ",
  "by a provider ",
  "on loopback.",
];
const HELD_ANSWER = ["Working ", "on it … "];

/** A running provider. Dispose it. */
export class DemoProvider implements AsyncDisposable {
  readonly #kind: DemoKind;
  readonly #responses: ResponsesProvider | undefined;
  readonly #messages: MessagesProvider | undefined;
  readonly #gates: Deferred<void>[] = [];
  #mode: Mode = { kind: "answer" };
  #work: string | undefined;
  #answers = 0;

  private constructor(kind: DemoKind) {
    this.#kind = kind;
    if (kind === "codex") {
      this.#responses = ResponsesProvider.start(() => {
        const id = ++this.#answers;
        const command = this.#takeWork();
        return command === undefined
          ? textAnswer(`msg_${id}`, ...this.#fragments())
          : callAnswer(`call_${id}`, "exec_command", { cmd: command });
      });
    } else {
      this.#messages = MessagesProvider.start(() => {
        const id = ++this.#answers;
        const command = this.#takeWork();
        return command === undefined
          ? textReply(`msg_${id}`, ...this.#fragments())
          : toolReply(`msg_${id}`, {
            id: `toolu_${id}`,
            name: "Bash",
            input: { command, description: "the work of the demo" },
          });
      });
    }
  }

  /** Starts the provider that a Harness of this kind talks to. */
  static start(kind: DemoKind): DemoProvider {
    return new DemoProvider(kind);
  }

  /** What Core freezes for the Session: the model and this provider. */
  agentOptions(model?: string): Readonly<Record<string, unknown>> {
    const codex = this.#kind === "codex";
    return {
      model: model ?? (codex ? "gpt-5.5" : "claude-sonnet-4-5"),
      model_provider: {
        protocol: codex ? "responses" : "anthropic",
        base_url: this.#responses?.baseUrl ?? this.#messages?.baseUrl ?? "",
        api_key: "demo",
      },
    };
  }

  /** Everything that was sent to the model so far, as text, for a search. */
  requestTexts(): readonly string[] {
    const requests = this.#responses?.requests ?? this.#messages?.requests ??
      [];
    return requests.map(({ text }) => text);
  }

  /** The next answer begins and stays open until the returned function is called. */
  holdNext(): () => void {
    const gate = deferred();
    this.#gates.push(gate);
    this.#mode = { kind: "held", gate: gate.promise };
    return () => gate.resolve();
  }

  /** The next request is answered with one tool call that runs this shell command. */
  workNext(command: string): void {
    this.#work = command;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const gate of this.#gates) gate.resolve();
    await this.#responses?.[Symbol.asyncDispose]();
    await this.#messages?.[Symbol.asyncDispose]();
  }

  #takeWork(): string | undefined {
    const command = this.#work;
    this.#work = undefined;
    return command;
  }

  #fragments(): readonly (string | Promise<void>)[] {
    const mode = this.#mode;
    this.#mode = { kind: "answer" };
    return mode.kind === "held" ? [...HELD_ANSWER, mode.gate] : ANSWER;
  }
}
