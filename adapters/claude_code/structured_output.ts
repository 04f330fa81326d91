/**
 * Owns the structured answer of a Turn: the raw JSON that the model streamed in the one accepted
 * call of the output tool. It is published byte for byte, never written anew.
 */
import type { TurnEvent } from "../../src/harness/contract.ts";
import type { NativeFrames } from "./native_frames.ts";

/** The native tool that carries structured output. */
export const OUTPUT_TOOL = "StructuredOutput";

/** The structured answer contradicts the program's own frames. */
export class OutputMismatch extends Error {
  override readonly name = "OutputMismatch";
}

interface Candidate {
  /** What was streamed. */
  raw: string;
  /** What the finished block says. */
  input?: unknown;
  accepted: boolean;
}

/** The output calls of the current native turn. */
export class StructuredOutput {
  #byIndex = new Map<number, string>();
  #candidates = new Map<string, Candidate>();

  constructor(private readonly emit: (event: TurnEvent) => void) {}

  /** Collects the streamed JSON of output calls. */
  stream(event: NativeFrames["stream_event"]["event"]): void {
    switch (event.type) {
      case "message_start":
        this.#byIndex = new Map();
        return;
      case "content_block_start": {
        const { type, id, name } = event.content_block;
        if (type !== "tool_use" || name !== OUTPUT_TOOL || id === undefined) {
          return;
        }
        this.#byIndex.set(event.index, id);
        this.#candidates.set(id, { raw: "", accepted: false });
        return;
      }
      case "content_block_delta": {
        const id = this.#byIndex.get(event.index);
        const candidate = id === undefined
          ? undefined
          : this.#candidates.get(id);
        if (candidate) candidate.raw += event.delta.partial_json ?? "";
        return;
      }
      default:
        return;
    }
  }

  /** A finished output call, as the program read it. */
  finished(id: string, input: unknown): void {
    const candidate = this.#candidates.get(id);
    if (candidate) candidate.input = input;
  }

  /** The program judged a call. */
  result(id: string, isError: boolean): void {
    const candidate = this.#candidates.get(id);
    if (!candidate) return;
    if (isError) this.#candidates.delete(id);
    else candidate.accepted = true;
  }

  /**
   * A native turn succeeded. Publishes its answer and returns the text, or `undefined` when the
   * turn has none.
   *
   * @throws {OutputMismatch} when the stream, the call and the result disagree.
   */
  publish(
    result: NativeFrames["result"],
    phase: "final_answer" | undefined,
  ): string | undefined {
    const accepted = [...this.#candidates].filter(([, each]) => each.accepted);
    this.#candidates = new Map();
    const [first] = accepted;
    if (!first && result.structured_output === undefined) return undefined;
    if (!first || accepted.length > 1) {
      throw new OutputMismatch("The native turn has no single accepted answer");
    }
    const [id, { raw, input }] = first;
    const value = parse(raw);
    if (
      value === undefined || !sameJson(value.value, input) ||
      !sameJson(value.value, result.structured_output)
    ) {
      throw new OutputMismatch("The streamed answer is not the accepted one");
    }
    this.emit({
      type: "output_message",
      payload: {
        id,
        status: "completed",
        ...(phase === undefined ? {} : { phase }),
        text: raw,
      },
    });
    return raw;
  }

  /** A native turn failed: its attempts stay private. */
  discard(): void {
    this.#candidates = new Map();
  }
}

function parse(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Deep equality of JSON values; the two zeros are one number. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (
    typeof a !== "object" || typeof b !== "object" || a === null || b === null
  ) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  const other = b as Record<string, unknown>;
  return keys.length === Object.keys(b).length &&
    keys.every((key) =>
      Object.hasOwn(b, key) &&
      sameJson((a as Record<string, unknown>)[key], other[key])
    );
}
