// Owns one session: an open socket, its router and its heartbeats, from the first frame to the
// router's confirmed shutdown.
import { type Clock, within } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { Connection } from "./connection.ts";
import type { ConnectionEnd } from "./connection_end.ts";
import type { FactsRecorder } from "./connection_facts.ts";
import { startHeartbeats } from "./heartbeat.ts";
import { CLOSE_DEADLINE } from "./limits.ts";
import { shutdownUntilConfirmed } from "./router_shutdown.ts";
import type { OpenRouter, SessionRouter } from "./session_router.ts";
import type { WireSocket } from "./wire_socket.ts";

/** What a session needs. */
export interface SessionOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly facts: FactsRecorder;
  /** Milliseconds between heartbeats. */
  readonly heartbeatInterval: number;
  readonly openRouter: OpenRouter;
  /** Ends the session: the socket is closed first, then the router is settled. */
  readonly stop: AbortSignal;
}

/** How a session ended. Its router has confirmed by then. */
export interface SessionOutcome {
  readonly end: ConnectionEnd;
  /** Milliseconds from the opening to the end, cleanup not included. */
  readonly lived: number;
  /** Core asked this device to shut down. */
  readonly shutdownRequested: boolean;
}

/** Runs one session over `socket`, which it owns. Never throws for what a router does. */
export async function runSession(
  socket: WireSocket,
  options: SessionOptions,
): Promise<SessionOutcome> {
  const { clock, facts, log } = options;
  const connection = new Connection(socket, options);
  const opened = clock.monotonic();
  facts.opened(() => connection.proof);
  const router = tryOpenRouter(connection, options);
  let shutdownRequested = false;
  if (router) {
    try {
      router.shutdownRequested.then(() => shutdownRequested = true);
      await serve(connection, router, options);
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
  if (router) {
    await shutdownUntilConfirmed({
      router,
      clock,
      log,
      onUnconfirmed: (state) => facts.shutdownUnconfirmed(state),
    });
  }
  return { end, lived, shutdownRequested };
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

/** Heartbeats first, then frames, until the socket ends, Core asks to stop, or we are told to. */
async function serve(
  connection: Connection,
  router: SessionRouter,
  options: SessionOptions,
): Promise<void> {
  const { clock, facts, log, stop } = options;
  const heartbeats = startHeartbeats({
    connection,
    clock,
    log,
    interval: options.heartbeatInterval,
    payload: () => router.heartbeat(),
    onWritten: () => facts.heartbeatWritten(),
  });
  const pumped = pump(connection, router, log);
  const stopped = aborted(stop);
  await Promise.race([
    connection.ended,
    router.shutdownRequested,
    stopped.promise,
  ]);
  stopped.forget();
  heartbeats.stop();
  if (connection.signal.aborted) {
    // Frames that came in before the end are still handled; a stuck handler does not hold this up.
    await within(clock, CLOSE_DEADLINE, "last frames", pumped).catch((error) =>
      log.warn("last_frames_unhandled", { error: asError(error) })
    );
  }
}

async function pump(
  connection: Connection,
  router: SessionRouter,
  log: Log,
): Promise<void> {
  for (;;) {
    const envelope = await connection.receive();
    if (!envelope) return;
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
