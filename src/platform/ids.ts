/** Identifiers and chance as parameters, so that tests can predict them. */

/** A source of fresh identifiers. */
export interface Ids {
  /** A canonical lower-case UUID that was never returned before. */
  uuid(): string;
  /** `bytes` random bytes as lower-case hex. */
  hex(bytes: number): string;
}

/** A source of chance, for jitter only; never for secrets. */
export interface Random {
  /** A number in [0, 1). */
  next(): number;
}

/** Identifiers from the system's random source. */
export const systemIds: Ids = {
  uuid: () => crypto.randomUUID(),
  hex: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)).toHex(),
};

/** Chance from the engine's generator. */
export const systemRandom: Random = { next: () => Math.random() };
