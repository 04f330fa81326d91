// Owns the steps that every inbound transfer shares after its begin.
import { MAX_CHUNK_BYTES, MAX_TRANSFER_BYTES } from "./limits.ts";

/** A part of the body. `offset` absent is 0. */
export interface TransferChunk {
  readonly step: "chunk";
  /** Position of the first byte in the body. */
  readonly offset?: number;
  /** 1 to 65,536 bytes. */
  readonly data: Uint8Array;
}

/** The end of the body. */
export interface TransferCommit {
  readonly step: "commit";
}

/** Whether a chunk has bytes and stays inside the largest body. */
export function isChunkInRange(
  offset: number,
  data: Uint8Array | undefined,
): boolean {
  return data !== undefined && data.length >= 1 &&
    data.length <= MAX_CHUNK_BYTES && offset >= 0 &&
    offset + data.length <= MAX_TRANSFER_BYTES;
}
