// Owns one connection's dispatch: one table from frame type to handler, and the wiring of the parts
// behind it. Handlers return at once; the receive loop never waits for native work.
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { Telemetry } from "../platform/telemetry.ts";
import type { InboundEnvelope } from "../protocol/envelope.ts";
import type { WorkspaceBinding } from "./binding.ts";
import { Cancellations } from "./cancellation.ts";
import type { HarnessKinds } from "./configuration_judgement.ts";
import type { FrameSender } from "./frame_sender.ts";
import { FunctionResults } from "./functions.ts";
import { Decisions } from "./interactions.ts";
import { OutputForwarder } from "./output.ts";
import { createOwners, type RouterOwners } from "./owners.ts";
import { Preparations } from "./preparation.ts";
import { RememberedDecisions } from "./remembered_decisions.ts";
import { RouterShutdown } from "./router_shutdown.ts";
import type { ExecutorLimits } from "./scope.ts";
import type { RuntimeServiceFactory, ServiceHost } from "./service_host.ts";
import { servicePort } from "./service_port.ts";
import { Starts } from "./start.ts";
import { type RouterStatus, routerStatus } from "./status.ts";
import { Steering } from "./steering.ts";
import { Submissions } from "./submissions.ts";
import { Suspension, type SuspensionControl } from "./suspension.ts";
import { SERVICE_FRAMES, unboundService } from "./unbound.ts";

/** What a router is made with. */
export interface RouterOptions {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** The connection; its ends are this router's only way out. */
  readonly sender: FrameSender;
  /** Where spans and counts go; nowhere when absent. */
  readonly telemetry?: Telemetry;
  /** Shared by all connections of the process. */
  readonly harnesses: HarnessKinds;
  /** The workspace this daemon is bound to; absent when unbound. */
  readonly binding?: WorkspaceBinding;
  /** Families beside execution; frame types that none takes are answered as unbound. */
  readonly services?: readonly RuntimeServiceFactory[];
  /** What makes a planned suspension possible; without it each is refused. */
  readonly suspension?: SuspensionControl;
  /** The operator's own limits; they lower the built-in ones and never raise them. */
  readonly executorLimits?: Partial<ExecutorLimits>;
  /** How long an idle Executor is kept, in milliseconds; one hour when absent. */
  readonly executorIdleMilliseconds?: number;
}

/** The dispatcher of one connection. */
export interface Router {
  /**
   * Takes one received frame. Never throws, never waits. After a shutdown began it does nothing, and
   * while suspended it takes `device_shutdown` only.
   */
  handle(envelope: InboundEnvelope): void;
  /**
   * Ends everything without sending. Resolves when nothing native is owned any more; rejects with
   * `ShutdownUnconfirmed` otherwise, and may be called again. Bound the wait outside.
   */
  shutdown(): Promise<void>;
  /** Runs that are routed, those still being released included. */
  readonly activeRuns: number;
  /** Resolves when Core asked for a shutdown of the device and everything was settled and sent. */
  readonly shutdownRequested: Promise<void>;
  /** Whether `device_shutdown` was received: do not dial again. */
  readonly draining: boolean;
  /** Present when this router can be suspended. */
  readonly suspension?: Suspension;
  /** What is owned now. */
  status(): RouterStatus;
}

/** Bytes of an unknown frame type that go to the log. */
const LOGGED_TYPE_LENGTH = 64;

type Handler = (envelope: InboundEnvelope) => void;

/** Makes the router of one connection. */
export function createRouter(options: RouterOptions): Router {
  const owners = createOwners(options);
  const { scope, runs, services } = owners;
  addServices(options.services ?? [], owners);
  const ending = new RouterShutdown(owners);
  const suspension = options.suspension &&
    new Suspension(owners, options.suspension);
  const table = handlerTable(owners, ending, suspension);
  return {
    handle: (envelope) => dispatch(envelope, table, scope, services),
    async shutdown() {
      await ending.shutdown();
      await suspension?.forget();
    },
    ...(suspension === undefined ? {} : { suspension }),
    get activeRuns() {
      return runs.count;
    },
    shutdownRequested: ending.deviceSettled,
    get draining() {
      return scope.phase === "draining";
    },
    status: () => routerStatus(owners),
  };
}

/** The one table of the frames that the router serves itself. */
function handlerTable(
  owners: RouterOwners,
  ending: RouterShutdown,
  suspension: Suspension | undefined,
): Readonly<Record<string, Handler>> {
  const { scope, runs, settlements } = owners;
  const preparations = new Preparations(owners);
  const starts = new Starts({
    ...owners,
    forwarder: new OutputForwarder(scope, runs, settlements),
  });
  const submissions = new Submissions(
    scope,
    new RememberedDecisions(scope.clock),
  );
  const cancellations = new Cancellations(scope, runs, settlements);
  const steering = new Steering(scope, runs);
  const functions = new FunctionResults(scope, runs, submissions);
  const decisions = new Decisions(scope, runs, submissions);
  return {
    execution_prepare: (envelope) => preparations.handlePrepare(envelope),
    execution_release: (envelope) => preparations.handleRelease(envelope),
    execution_start: (envelope) => starts.handle(envelope),
    prompt_cancel: (envelope) => cancellations.handle(envelope),
    prompt_steer: (envelope) => steering.handle(envelope),
    function_result: (envelope) => functions.handle(envelope),
    permission_decision: (envelope) => decisions.handlePermission(envelope),
    prompt_for_user_choice_decision: (envelope) =>
      decisions.handleUserChoice(envelope),
    device_shutdown: (envelope) => ending.handleDeviceShutdown(envelope),
    ...(suspension === undefined ? {} : {
      environment_quiesce: (envelope) => suspension.handleQuiesce(envelope),
      environment_resume: (envelope) => suspension.handleResume(envelope),
    }),
  };
}

function dispatch(
  envelope: InboundEnvelope,
  table: Readonly<Record<string, Handler>>,
  scope: RouterOwners["scope"],
  services: ServiceHost,
): void {
  const { type } = envelope;
  if (!scope.open) return scope.log.debug("frame after close", { type });
  if (scope.phase === "suspended" && type !== "device_shutdown") {
    return scope.log.debug("frame while suspended", { type });
  }
  const service = services.ofFrame(type);
  const handler = Object.hasOwn(table, type) ? table[type] : undefined;
  if (handler === undefined && service === undefined) {
    return scope.log.warn("unknown envelope type", {
      type: JSON.stringify(type.slice(0, LOGGED_TYPE_LENGTH)),
    });
  }
  try {
    if (handler !== undefined) handler(envelope);
    else service?.handle(envelope);
  } catch (error) {
    scope.log.error("frame handler failed", {
      type,
      error: error instanceof Error ? error : undefined,
    });
  }
}

function addServices(
  factories: readonly RuntimeServiceFactory[],
  parts: Parameters<typeof servicePort>[0],
): void {
  const { services } = parts;
  const port = servicePort(parts);
  for (const factory of factories) services.add(factory(port));
  const unserved = SERVICE_FRAMES.filter((type) =>
    services.ofFrame(type) === undefined
  );
  services.add(unboundService(port, unserved));
}
