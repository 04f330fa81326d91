/**
 * The stderr of a native process: read to its end whatever it says, its last part kept for local
 * diagnosis with secrets replaced. Never part of an event.
 */

/** What is kept, in bytes. */
const TAIL_BYTES = 8 * 1024;
/** From this length on, the beginning of a secret at the end of the text is hidden too. */
const PARTIAL_SECRET = 6;
const HIDDEN = "[hidden]";

// Control characters, C1 controls, line separators and what turns the direction of writing.
const UNSAFE =
  // deno-lint-ignore no-control-regex
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** Collects text and keeps its end. */
export class ErrorTail {
  readonly #secrets: readonly string[];
  /** The start of a secret may be this many characters before its end. */
  readonly #overlap: number;
  readonly #decoder = new TextDecoder();
  #kept = "";
  /** Text whose end may be the beginning of a secret. */
  #open = "";

  constructor(secrets: readonly string[]) {
    // The longest first: one may contain another.
    this.#secrets = secrets.filter((secret) => secret !== "")
      .toSorted((one, other) => other.length - one.length);
    this.#overlap = Math.max(0, (this.#secrets[0]?.length ?? 0) - 1);
  }

  /** Takes the next bytes. */
  push(chunk: Uint8Array): void {
    this.#open += this.#decoder.decode(chunk, { stream: true });
    for (const secret of this.#secrets) {
      this.#open = this.#open.replaceAll(secret, HIDDEN);
    }
    const released = Math.max(0, this.#open.length - this.#overlap);
    this.#kept = (this.#kept + this.#open.slice(0, released)).slice(
      -TAIL_BYTES,
    );
    this.#open = this.#open.slice(released);
  }

  /** The last 8 KiB, secrets replaced, control characters escaped. */
  text(): string {
    const bytes = new TextEncoder().encode(
      (this.#kept + this.#hidePartial(this.#open)).replace(UNSAFE, escape),
    );
    const tail = bytes.subarray(Math.max(0, bytes.length - TAIL_BYTES));
    // A character cut at the front becomes one replacement character.
    return new TextDecoder().decode(tail).replace(/^\ufffd+/, "");
  }

  #hidePartial(text: string): string {
    for (const secret of this.#secrets) {
      for (let length = secret.length - 1; length >= PARTIAL_SECRET; length--) {
        if (text.endsWith(secret.slice(0, length))) {
          return text.slice(0, -length) + HIDDEN;
        }
      }
    }
    return text;
  }
}

function escape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
