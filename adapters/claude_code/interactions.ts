/**
 * Owns the questions that the program asks during one Turn: permission for a native tool and
 * choices for the user. A decision is written once; only the tool's own result proves it applied.
 */
import * as z from "zod";
import {
  type TurnEvent,
  UnknownInteraction,
} from "../../src/harness/contract.ts";
import {
  bindUserChoice,
  type PermissionDecision,
  type UserChoiceDecision,
  type UserChoiceQuestion,
} from "../../src/protocol/interactions.ts";
import { type Deferred, deferred } from "../../src/platform/deferred.ts";
import type { Ids } from "../../src/platform/ids.ts";

/** The tool by which the model asks the user. */
export const ASKING_TOOL = "AskUserQuestion";

const ask = z.object({
  tool_name: z.string(),
  input: z.looseObject({}),
  tool_use_id: z.string(),
  title: z.string().optional(),
  description: z.string().optional(),
});

/** A request for a decision on a tool call. */
export type NativeAsk = z.output<typeof ask>;

/** Reads a `can_use_tool` request; `undefined` when it is malformed. */
export function readAsk(value: unknown): NativeAsk | undefined {
  const read = ask.safeParse(value);
  return read.success ? read.data : undefined;
}

/** What to do with a call of an offered tool. */
export type ToolVerdict = "allow" | "deny" | "ask" | "choose";

/**
 * Judges a call. Functions and MCP tools were allowed by Core's own configuration; native tools
 * run without asking unless the operator wants native questions to reach Core.
 */
export function judgeTool(native: NativeAsk, asks: boolean): ToolVerdict {
  if (native.tool_name === ASKING_TOOL) return asks ? "choose" : "deny";
  return asks && !native.tool_name.startsWith("mcp__") ? "ask" : "allow";
}

const questions = z.object({
  questions: z.array(z.object({
    question: z.string(),
    header: z.string().optional(),
    multiSelect: z.boolean().optional(),
    options: z.array(z.object({
      label: z.string(),
      description: z.string().optional(),
    })),
  })).min(1),
});

interface Pending {
  readonly kind: "permission" | "choice";
  readonly requestId: string;
  readonly ask: NativeAsk;
  readonly questions: readonly UserChoiceQuestion[];
  /** Set by the one decision; settled by the tool's result. */
  applied?: Deferred<void>;
}

/** The open questions of one Turn. */
export class Interactions {
  readonly #open = new Map<string, Pending>();

  constructor(
    private readonly emit: (event: TurnEvent) => void,
    private readonly ids: Ids,
    private readonly reply: (requestId: string, body: unknown) => Promise<void>,
  ) {}

  /** Asks Core for permission to run a native tool. */
  askPermission(requestId: string, native: NativeAsk): void {
    const id = `perm_${this.ids.hex(4)}`;
    this.#open.set(id, {
      kind: "permission",
      requestId,
      ask: native,
      questions: [],
    });
    this.emit({
      type: "permission_request",
      payload: {
        request_id: id,
        tool: native.tool_name,
        title: native.title ?? native.tool_name,
        ...(native.description ? { detail: native.description } : {}),
        payload: { input: native.input, tool_use_id: native.tool_use_id },
      },
    });
  }

  /** Asks the user through Core. False when the questions cannot be told apart or are malformed. */
  askChoice(requestId: string, native: NativeAsk): boolean {
    const read = questions.safeParse(native.input);
    if (!read.success) return false;
    const list = read.data.questions;
    // The program keys answers by the text of a question.
    if (new Set(list.map((each) => each.question)).size !== list.length) {
      return false;
    }
    const id = `ask_${this.ids.hex(4)}`;
    const emitted = list.map((each, index): UserChoiceQuestion => ({
      id: `${id}_q${index}`,
      question: each.question,
      ...(each.header === undefined ? {} : { header: each.header }),
      ...(each.multiSelect === true ? { multi_select: true } : {}),
      options: each.options.map(({ label, description }) =>
        description === undefined ? { label } : { label, description }
      ),
    }));
    this.#open.set(id, {
      kind: "choice",
      requestId,
      ask: native,
      questions: emitted,
    });
    this.emit({
      type: "prompt_for_user_choice",
      payload: {
        ask_id: id,
        questions: emitted,
        tool_use_id: native.tool_use_id,
      },
    });
    return true;
  }

  /** @throws {UnknownInteraction} when no such request waits for a decision. */
  async decidePermission(
    id: string,
    decision: PermissionDecision,
  ): Promise<void> {
    const pending = this.#undecided(id, "permission");
    await this.#write(
      pending,
      decision.approved
        ? {
          behavior: "allow",
          updatedInput: decision.updated_input ?? pending.ask.input,
        }
        : { behavior: "deny", message: decision.message || DENIED },
    );
  }

  /** @throws {UnknownInteraction} when no such question waits, or an answer is to none of it. */
  async decideChoice(id: string, decision: UserChoiceDecision): Promise<void> {
    const pending = this.#undecided(id, "choice");
    if (decision.cancelled === true) {
      await this.#write(pending, { behavior: "deny", message: CANCELLED });
      return;
    }
    const bound = bindUserChoice(pending.questions, decision);
    if (!bound.ok) throw new UnknownInteraction(bound.reason);
    const answers: [string, string][] = [];
    const annotations: [string, unknown][] = [];
    for (const { id: questionId, question } of pending.questions) {
      const given = bound.value.get(questionId);
      if (given === undefined) continue;
      if (given.length > 0) answers.push([question, given.join(", ")]);
      else annotations.push([question, { unanswered: "skipped" }]);
    }
    await this.#write(pending, {
      behavior: "allow",
      updatedInput: {
        ...pending.ask.input,
        answers: Object.fromEntries(answers),
        ...(annotations.length > 0
          ? { annotations: Object.fromEntries(annotations) }
          : {}),
      },
    });
  }

  /** The program settled a tool call: a decision on it has been applied. */
  toolSettled(toolUseId: string): void {
    for (const [id, pending] of this.#open) {
      if (pending.ask.tool_use_id !== toolUseId) continue;
      this.#open.delete(id);
      if (pending.applied) pending.applied.resolve();
      else this.#withdraw(id);
    }
  }

  /** The program took its request back. */
  withdrawn(requestId: string): void {
    for (const [id, pending] of this.#open) {
      if (pending.requestId !== requestId || pending.applied) continue;
      this.#open.delete(id);
      this.#withdraw(id);
    }
  }

  /** The Turn is over. */
  close(): void {
    for (const [id, pending] of this.#open) {
      if (pending.applied) {
        pending.applied.reject(
          new Error("The Turn ended before the decision was applied"),
        );
      } else this.#withdraw(id);
    }
    this.#open.clear();
  }

  #undecided(id: string, kind: Pending["kind"]): Pending {
    const pending = this.#open.get(id);
    if (!pending || pending.kind !== kind || pending.applied) {
      throw new UnknownInteraction("No question is pending by this id");
    }
    return pending;
  }

  async #write(pending: Pending, body: unknown): Promise<void> {
    const applied = deferred();
    pending.applied = applied;
    await Promise.race([
      this.reply(pending.requestId, body).then(() => applied.promise),
      applied.promise,
    ]);
  }

  #withdraw(requestId: string): void {
    this.emit({ type: "permission_cancel", requestId });
  }
}

const DENIED = "The request was denied.";
const CANCELLED = "The user did not answer.";
