import type { Child } from "../../../src/harness/child.ts";
import type {
  DiscoveryContext,
  PreparedConfiguration,
  TurnSink,
} from "../../../src/harness/contract.ts";

/** What a Turn gets from its Executor. */
export interface ScriptedTurnParts {
  readonly session: string;
  readonly sink: TurnSink;
  readonly child: Child;
  readonly context: DiscoveryContext;
  readonly configuration: PreparedConfiguration;
  retire(reason: string): void;
}
