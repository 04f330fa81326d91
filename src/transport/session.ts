// Owns one session: an open socket, its router and its heartbeats, from the first frame to the
// router's confirmed shutdown, or to its suspension.
import { type Clock, within } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { Connection } from "./connection.ts";
import type { ConnectionEnd } from "./connection_end.ts";
import type { FactsRecorder } from "./connection_facts.ts";
import { startHeartbeats } from "./heartbeat.ts";
import { CLOSE_DEADLINE } from "./limits.ts";
import { shutdownUntilConfirmed } from "./router_shutdown.ts";
import type {
  OpenRouter,
  SessionRouter,
  SuspendableRouter,
} from "./session_router.ts";
import type { WireSocket } from "./wire_socket.ts";

/** What a session needs. */
export interface SessionOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly facts: FactsRecorder;
  /** Milliseconds between heartbeats. */
  readonly heartbeatInterval: number;
  readonly openRouter: OpenRouter;
  /** The router that this session must resume before it serves, and until when. */
  readonly suspended?: {
    readonly router: SuspendableRouter;
    readonly until: AbortSignal;
  };
  /** Ends the session: the socket is closed first, then the router is settled. */
  readonly stop: AbortSignal;
}

/** How a session ended. Its router has confirmed by then, or is handed over in `suspended`. */
export interface SessionOutcome {
  readonly end: ConnectionEnd;
  /** Milliseconds from the opening to the end, cleanup not included. */
  readonly lived: number;
  /** Core asked this device to shut down. */
  readonly shutdownRequested: boolean;
  /** A suspended router: nothing of it was shut down. */
  readonly suspended?: SuspendedEnd;
  /** The first frame did not resume the suspended router: it never will be. */
  readonly resumeRefused: boolean;
}

/** A router that is suspended: `anew` by this session, or still because it was not resumed. */
export interface SuspendedEnd {
  readonly kind: "suspended";
  readonly router: SuspendableRouter;
  readonly anew: boolean;
}

/** Why a session stopped serving. */
type ServeEnd =
  | { readonly kind: "over" }
  | { readonly kind: "resume_refused" }
  | SuspendedEnd;

/** Runs one session over `socket`, which it owns. Never throws for what a router does. */
export async function runSession(
  socket: WireSocket,
  options: SessionOptions,
): Promise<SessionOutcome> {
  const { clock, facts, log } = options;
  const connection = new Connection(socket, options);
  const opened = clock.monotonic();
  facts.opened(() => connection.proof);
  const router = options.suspended?.router ??
    tryOpenRouter(connection, options);
  let shutdownRequested = false;
  let served: ServeEnd = { kind: "over" };
  if (router) {
    try {
      router.shutdownRequested.then(() => shutdownRequested = true);
      served = await serve(connection, router, options);
    } catch (error) {
      // Whatever broke: the router exists, so its shutdown below is still owed.
      log.error("session_failed_internally", { error: asError(error) });
    }
  }
  const closed = connection.close();
  const end = await connection.ended;
  const lived = clock.monotonic() - opened;
  facts.sessionEnded(end);
  await closed;
  if (router && served.kind !== "suspended") {
    await shutdownUntilConfirmed({
      router,
      clock,
      log,
      onUnconfirmed: (state) => facts.shutdownUnconfirmed(state),
    });
  }
  return {
    end,
    lived,
    shutdownRequested,
    resumeRefused: served.kind === "resume_refused",
    ...(served.kind === "suspended" ? { suspended: served } : {}),
  };
}

function tryOpenRouter(
  connection: Connection,
  options: SessionOptions,
): SessionRouter | undefined {
  try {
    return options.openRouter(connection);
  } catch (error) {
    options.log.error("router_not_opened", { error: asError(error) });
    return undefined;
  }
}

/** Heartbeats first, then a resume where one is due, then frames. */
async function serve(
  connection: Connection,
  router: SessionRouter,
  options: SessionOptions,
): Promise<ServeEnd> {
  const { clock, facts, log } = options;
  const heartbeats = startHeartbeats({
    connection,
    clock,
    log,
    interval: options.heartbeatInterval,
    payload: () => router.heartbeat(),
    onWritten: () => facts.heartbeatWritten(),
  });
  try {
    const held = options.suspended &&
      await resume(connection, options.suspended);
    return held ?? await serveFrames(connection, router, options);
  } finally {
    heartbeats.stop();
  }
}

/** Gives the first frame to the suspended router. Returns why it does not serve, if so. */
async function resume(
  connection: Connection,
  { router, until }: NonNullable<SessionOptions["suspended"]>,
): Promise<ServeEnd | undefined> {
  const over = aborted(until);
  const first = await Promise.race([connection.receive(), over.promise]);
  over.forget();
  if (!first) return { kind: "suspended", router, anew: false };
  const outcome = await router.suspension.resume(first, connection);
  switch (outcome) {
    case "resumed":
      return undefined;
    case "refused":
      return { kind: "resume_refused" };
    case "lost":
      return { kind: "over" };
  }
}

/** Until the socket ends, Core asks to stop or to suspend, or we are told to stop. */
async function serveFrames(
  connection: Connection,
  router: SessionRouter,
  { clock, log, stop }: SessionOptions,
): Promise<ServeEnd> {
  const { suspension } = router;
  let acknowledged = false;
  const suspended = suspension?.ended.then((end) => {
    acknowledged = end === "suspended";
  });
  const pumped = pump(connection, router, log, () => acknowledged);
  const stopped = aborted(stop);
  await Promise.race([
    connection.ended,
    router.shutdownRequested,
    stopped.promise,
    ...(suspended ? [suspended] : []),
  ]);
  stopped.forget();
  if (acknowledged && isSuspendable(router)) {
    return { kind: "suspended", router, anew: true };
  }
  if (connection.signal.aborted) {
    // Frames that came in before the end are still handled; a stuck handler does not hold this up.
    await within(clock, CLOSE_DEADLINE, "last frames", pumped).catch((error) =>
      log.warn("last_frames_unhandled", { error: asError(error) })
    );
  }
  return { kind: "over" };
}

function isSuspendable(router: SessionRouter): router is SuspendableRouter {
  return router.suspension !== undefined;
}

/** Hands over frame by frame. After the acknowledgement of a suspension none is taken any more. */
async function pump(
  connection: Connection,
  router: SessionRouter,
  log: Log,
  over: () => boolean,
): Promise<void> {
  for (;;) {
    const envelope = await connection.receive();
    if (!envelope || over()) return;
    try {
      const handled = router.handle(envelope);
      if (handled) await handled;
    } catch (error) {
      log.error("frame_handler_failed", {
        type: printable(envelope.type),
        error: asError(error),
      });
    }
  }
}

/** A peer's word for the log: bounded and free of control characters. */
function printable(text: string): string {
  return text.slice(0, 64).replace(/[^\x21-\x7e]/g, "?");
}

function aborted(
  signal: AbortSignal,
): { readonly promise: Promise<void>; forget(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const onAbort = () => resolve();
  if (signal.aborted) resolve();
  else signal.addEventListener("abort", onAbort, { once: true });
  return {
    promise,
    forget: () => signal.removeEventListener("abort", onAbort),
  };
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new TypeError("Thrown: not an error");
}
