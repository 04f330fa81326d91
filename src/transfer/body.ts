/**
 * The received part of one declared body: chunks in order, held in memory, hashed as they arrive.
 * It never holds more than the declared size and allocates nothing ahead of the chunks.
 */
import { createHash, type Hash } from "node:crypto";

/** Bytes of one kept block, the size of a full chunk. */
const BLOCK_BYTES = 64 * 1024;

/** What a body was declared to be at `begin`. */
export interface DeclaredBody {
  /** Bytes, 0 to the family's limit. */
  readonly sizeBytes: number;
  /** Lower-case hex of the complete body; absent for a body of which no digest is declared. */
  readonly sha256?: string;
}

/** Whether a body is what was declared. */
export type BodyCheck = "complete" | "short" | "digest_mismatch";

/** The chunks of one transfer. */
export class TransferBody {
  readonly #declared: DeclaredBody;
  /** Full blocks as they came, small chunks joined: their count is bounded by the size alone. */
  #chunks: Uint8Array[] = [];
  #received = 0;
  /** The last block and how much of it is filled, while small chunks are joined. */
  #block: { readonly data: Uint8Array; filled: number } | undefined;
  readonly #hash: Hash = createHash("sha256");

  constructor(declared: DeclaredBody) {
    this.#declared = declared;
  }

  /** Bytes taken so far. */
  get received(): number {
    return this.#received;
  }

  /**
   * Takes the next chunk. Returns false, and keeps nothing of it, when it does not start where the
   * body ends or would pass the declared size.
   */
  append(offset: number, data: Uint8Array): boolean {
    if (
      offset !== this.#received ||
      this.#received + data.length > this.#declared.sizeBytes
    ) return false;
    this.#hash.update(data);
    this.#keep(data);
    this.#received += data.length;
    return true;
  }

  /** Compares size and digest with the declaration. To be called once, at the commit. */
  check(): BodyCheck {
    if (this.#received !== this.#declared.sizeBytes) return "short";
    const { sha256 } = this.#declared;
    if (sha256 !== undefined && this.#hash.digest("hex") !== sha256) {
      return "digest_mismatch";
    }
    return "complete";
  }

  /** The chunks in order. The body keeps owning them until {@linkcode drop}. */
  get chunks(): readonly Uint8Array[] {
    const { data, filled } = this.#block ??
      { data: new Uint8Array(), filled: 0 };
    return filled === 0
      ? this.#chunks
      : [...this.#chunks, data.subarray(0, filled)];
  }

  /** One array of the whole body, for formats that need it in one piece. */
  concatenated(): Uint8Array<ArrayBuffer> {
    const whole = new Uint8Array(this.#received);
    let position = 0;
    for (const chunk of this.chunks) {
      whole.set(chunk, position);
      position += chunk.length;
    }
    return whole;
  }

  /** Forgets the bytes. Called before a result is sent, so that a slow peer holds no memory. */
  drop(): void {
    this.#chunks = [];
    this.#block = undefined;
  }

  #keep(data: Uint8Array): void {
    if (!this.#block && data.length >= BLOCK_BYTES) {
      this.#chunks.push(data);
      return;
    }
    let rest = data;
    while (rest.length > 0) {
      const left = this.#declared.sizeBytes - this.#received -
        (data.length - rest.length);
      this.#block ??= {
        data: new Uint8Array(Math.min(BLOCK_BYTES, left)),
        filled: 0,
      };
      const block = this.#block;
      const part = rest.subarray(0, block.data.length - block.filled);
      block.data.set(part, block.filled);
      block.filled += part.length;
      rest = rest.subarray(part.length);
      if (block.filled < block.data.length) continue;
      this.#chunks.push(block.data);
      this.#block = undefined;
    }
  }
}
