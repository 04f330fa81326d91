/**
 * Owns what Core sees of the program's own tools during one Turn: shell commands and calls of
 * declared MCP servers. Bookkeeping tools, file tools and functions are not observed here.
 */
import * as z from "zod";
import type { TurnEvent } from "../../src/harness/contract.ts";
import type { ToolObservation } from "../../src/protocol/tool_call.ts";
import { boundedOutput, boundedValue } from "./oversize.ts";

/** A tool call of the model. */
export interface NativeToolUse {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

/** The program's result of a tool call. */
export interface NativeToolResult {
  readonly isError: boolean;
  /** Content blocks or text, as the model sees them. */
  readonly content: unknown;
  /** The structured result; only when the frame carries this result alone. */
  readonly structured: unknown;
}

/** The server label and original tool behind a native MCP name. */
export interface McpIdentity {
  readonly server: string;
  readonly tool: string;
}

const command = z.object({ command: z.string().min(1) });
const interruption = z.object({ interrupted: z.literal(true) });

type Subject =
  | { readonly kind: "command"; readonly command: string }
  | {
    readonly kind: "mcp";
    readonly name: string;
    readonly server: string;
    readonly arguments: unknown;
  };

/** The open observations of one Turn. */
export class ToolObservations {
  readonly #open = new Map<string, { name: string; subject: Subject }>();
  readonly #seen = new Set<string>();

  constructor(
    private readonly emit: (event: TurnEvent) => void,
    private readonly mcpIdentity: (name: string) => McpIdentity | undefined,
  ) {}

  /** A root tool call began. */
  began(use: NativeToolUse): void {
    const subject = this.#subject(use);
    if (!subject || this.#seen.has(use.id)) return;
    this.#seen.add(use.id);
    const name = subject.kind === "mcp" ? subject.name : use.name;
    this.#open.set(use.id, { name, subject });
    this.#send(use.id, name, "before", observe(subject, "in_progress"));
  }

  /** A root tool call ended. Results of calls that are not observed are ignored. */
  ended(id: string, result: NativeToolResult, cancelling: boolean): void {
    const open = this.#open.get(id);
    if (!open) return;
    this.#open.delete(id);
    const interrupted = interruption.safeParse(result.structured).success ||
      (cancelling && result.isError);
    const status = interrupted
      ? "incomplete"
      : result.isError
      ? "failed"
      : "completed";
    this.#send(
      id,
      open.name,
      "after",
      observe(open.subject, status, result),
    );
  }

  /** Whether a call has no result yet. */
  get anyOpen(): boolean {
    return this.#open.size > 0;
  }

  /** The Turn is over: open calls stay without a result. */
  close(): void {
    for (const [id, { name, subject }] of this.#open) {
      this.#send(id, name, "after", observe(subject, "incomplete"));
    }
    this.#open.clear();
  }

  #subject(use: NativeToolUse): Subject | undefined {
    if (use.name === "Bash") {
      const read = command.safeParse(use.input);
      return read.success
        ? { kind: "command", command: read.data.command }
        : undefined;
    }
    const identity = this.mcpIdentity(use.name);
    return identity && {
      kind: "mcp",
      name: identity.tool,
      server: identity.server,
      arguments: use.input,
    };
  }

  #send(
    id: string,
    name: string,
    stage: "before" | "after",
    observation: ToolObservation,
  ): void {
    this.emit({ type: "tool_call", payload: { id, name, stage, observation } });
  }
}

function observe(
  subject: Subject,
  status: ToolObservation["status"],
  result?: NativeToolResult,
): ToolObservation {
  if (subject.kind === "command") {
    const output = result && { output: boundedOutput(textOf(result.content)) };
    return { ...subject, status, ...output };
  }
  const value = result &&
    boundedValue(result.structured ?? result.content ?? null);
  return {
    ...subject,
    arguments: boundedValue(subject.arguments),
    status,
    output: result && !result.isError ? value : null,
    error: result?.isError ? value : null,
  };
}

const textBlocks = z.array(
  z.object({ type: z.literal("text"), text: z.string() }).or(z.unknown()),
);

/** The text of a result; blocks that are no text are left out. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  const read = textBlocks.safeParse(content);
  if (!read.success) return "";
  return read.data.flatMap((block) =>
    typeof block === "object" && block !== null && "text" in block
      ? [String(block.text)]
      : []
  ).join("\n");
}
