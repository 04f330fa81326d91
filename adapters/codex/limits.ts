/**
 * Every time and size bound of this adapter, each with its reason. Tests pass smaller ones; nothing
 * else reads a number of its own.
 */
import type { CloseGrace } from "../../src/harness/child.ts";

/** Durations are milliseconds. */
export interface CodexLimits {
  /** Process start to `initialize` answered: 0.5 s was the slowest seen, on a new home. */
  readonly initialize: number;
  /** A request without a bound of its own. Required MCP servers start inside `thread/start`. */
  readonly request: number;
  /** What an MCP server may take to start. */
  readonly mcpStartup: number;
  /** `turn/start` from write to answer. */
  readonly turnStart: number;
  /** One cancellation: interrupt, children and background terminals together. */
  readonly cancel: number;
  /** A function result from write to the native receipt. */
  readonly functionResult: number;
  /** A decision from write to the native settlement. */
  readonly decision: number;
  /** A question without an answer; then it is declined. */
  readonly question: number;
  /** The facts of a new child agent. */
  readonly childFacts: number;
  /** A Turn without any sign of life while the model is to answer; then it is interrupted. */
  readonly silentProvider: number;
  /** Longest wait inside a running answer of the provider, a native setting. */
  readonly streamIdle: number;
  /** Retries of the provider; absent keeps the native numbers. */
  readonly providerRetries?: {
    readonly request: number;
    readonly stream: number;
  };
  /** Steps of a close. The process needs 20 to 40 ms after the end of its input. */
  readonly closeGrace: CloseGrace;
  /** Longest line of stdout, in bytes: a history of 24 MB was seen in one. */
  readonly lineBytes: number;
}

/** The bounds of production. */
export const CODEX_LIMITS: CodexLimits = {
  initialize: 30_000,
  request: 60_000,
  mcpStartup: 20_000,
  turnStart: 10_000,
  cancel: 10_000,
  functionResult: 10_000,
  decision: 10_000,
  question: 600_000,
  childFacts: 3_000,
  silentProvider: 600_000,
  streamIdle: 300_000,
  closeGrace: {
    afterEndOfInput: 5_000,
    afterTerminate: 1_000,
    afterKill: 3_000,
  },
  lineBytes: 32 * 1024 * 1024,
};

/** Function tools of one thread. */
export const MAX_FUNCTION_TOOLS = 64;
/** Function calls that may wait for their result at once. */
export const MAX_PENDING_CALLS = 64;
/** Questions and permission requests that may wait at once. */
export const MAX_PENDING_INTERACTIONS = 64;
/** Child agents of one Turn. */
export const MAX_CHILDREN = 64;
/** Characters of all text items of one input: the native limit. */
export const MAX_INPUT_CHARACTERS = 1_048_576;
/** Native Turn ids kept to recognise late events. */
export const MAX_RETIRED_TURNS = 256;
/** Events that may wait for the observer before the native output is no longer read. */
export const MAX_WAITING_EVENTS = 256;
/** Pages of background terminals of one thread, 100 each. */
export const MAX_TERMINAL_ROUNDS = 16;
