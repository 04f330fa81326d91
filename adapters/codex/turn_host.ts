/**
 * What the parts of a Turn may use of it: the connection, the outside and the way out for events.
 */
import type { TurnEvent } from "../../src/harness/contract.ts";
import type { Clock } from "../../src/platform/clock.ts";
import type { Ids } from "../../src/platform/ids.ts";
import type { Log } from "../../src/platform/log.ts";
import type { CodexLimits } from "./limits.ts";
import type { Rpc } from "./rpc.ts";

/** The surroundings of functions, interactions, steering and children. */
export interface TurnHost {
  readonly rpc: Rpc;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly limits: CodexLimits;
  /** Queues an event; returns at once. */
  emit(event: TurnEvent): void;
  /** The native execution is in an unknown state and must be ended. `reason` is a fixed sentence. */
  lose(reason: string): void;
}
