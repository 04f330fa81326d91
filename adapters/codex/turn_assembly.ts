/** Builds the parts of one Turn, all fresh. */
import type {
  PreparedConfiguration,
  TurnSink,
} from "../../src/harness/contract.ts";
import type { Clock } from "../../src/platform/clock.ts";
import type { Ids } from "../../src/platform/ids.ts";
import type { Log } from "../../src/platform/log.ts";
import type { ChildFacts } from "./child_facts.ts";
import { Children } from "./children.ts";
import { FunctionCalls } from "./functions.ts";
import { Interactions } from "./interactions.ts";
import type { CodexLimits } from "./limits.ts";
import { Messages } from "./messages.ts";
import { Observation } from "./observation.ts";
import type { Outbox } from "./outbox.ts";
import type { Rpc } from "./rpc.ts";
import { Steering } from "./steering.ts";
import { compile } from "./structured.ts";
import type { BoundThread } from "./thread.ts";
import type { TurnHost } from "./turn_host.ts";
import type { TurnParts } from "./turn_parts.ts";
import { RunUsage, type ThreadTotal } from "./usage.ts";

/** What the Executor gives to a new Turn. */
export interface Assembly {
  readonly rpc: Rpc;
  readonly thread: BoundThread;
  readonly configuration: PreparedConfiguration;
  readonly permissions: "unattended" | "ask";
  readonly limits: CodexLimits;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly sink: TurnSink;
  readonly outbox: Outbox;
  readonly baseline: ThreadTotal;
  readonly facts: ChildFacts;
  readonly rootTurn: () => string | undefined;
  readonly lose: (reason: string) => void;
}

/** See the file comment. */
export function assembleTurn(assembly: Assembly): TurnParts {
  const { configuration, thread, outbox, rpc, clock, ids, log } = assembly;
  const host: TurnHost = {
    rpc,
    clock,
    ids,
    log,
    limits: assembly.limits,
    emit: (event) => outbox.push(event),
    lose: assembly.lose,
  };
  const format = configuration.executionControls?.output_format;
  return {
    host,
    threadId: thread.id,
    sink: assembly.sink,
    outbox,
    observation: new Observation(
      new Messages(configuration.observeMessages ? "observed" : "unobserved"),
      new RunUsage(assembly.baseline, thread.model ?? configuration.model),
      host.emit,
    ),
    steering: new Steering(host, thread.id),
    functions: new FunctionCalls(host, configuration.functionTools),
    interactions: new Interactions(host, assembly.permissions),
    children: new Children({
      host,
      facts: assembly.facts,
      rootThread: thread.id,
      rootTurn: assembly.rootTurn,
      observed: configuration.observeSubagentIdentities
        ? "observed"
        : "unobserved",
    }),
    structured: format ? compile(format.schema) : undefined,
  };
}
