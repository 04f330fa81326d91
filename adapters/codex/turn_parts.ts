/** What a Turn is made of, built fresh for each Turn. */
import type { TurnSink } from "../../src/harness/contract.ts";
import type { Children } from "./children.ts";
import type { FunctionCalls } from "./functions.ts";
import type { Interactions } from "./interactions.ts";
import type { Observation } from "./observation.ts";
import type { Outbox } from "./outbox.ts";
import type { Steering } from "./steering.ts";
import type { StructuredCheck } from "./structured.ts";
import type { TurnHost } from "./turn_host.ts";

/** The parts; no two Turns share one but `host`. */
export interface TurnParts {
  readonly host: TurnHost;
  readonly threadId: string;
  readonly sink: TurnSink;
  readonly outbox: Outbox;
  readonly observation: Observation;
  readonly steering: Steering;
  readonly functions: FunctionCalls;
  readonly interactions: Interactions;
  readonly children: Children;
  readonly structured: StructuredCheck | undefined;
}
