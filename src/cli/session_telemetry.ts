/** What telemetry learns about connections: how they began and ended, and how full the newest is. */
import type { Telemetry } from "../platform/telemetry.ts";
import type { SessionConnection } from "../transport/connection.ts";
import { ConnectionEnded } from "../transport/send_error.ts";

/**
 * Offers the gauges of the process once, and returns what is to be called with each connection.
 * Only one of them has work at a time: a router is settled before the next one is opened.
 */
export function observeSessions(
  telemetry: Telemetry,
  router: () => { readonly activeRuns: number } | undefined,
): (connection: SessionConnection) => void {
  let newest: SessionConnection | undefined;
  telemetry.observe("runs_active", () => router()?.activeRuns ?? 0);
  telemetry.observe(
    "outbound_queue_frames",
    () => newest?.pendingFrames ?? 0,
  );
  return (connection) => {
    newest = connection;
    const { signal } = connection;
    telemetry.count("connections_opened", 1, {});
    const onEnd = () =>
      telemetry.count("connections_ended", 1, { end: endOf(signal.reason) });
    if (signal.aborted) return onEnd();
    signal.addEventListener("abort", onEnd, { once: true });
  };
}

/** How it ended, in one fixed word. */
function endOf(reason: unknown): string {
  if (!(reason instanceof ConnectionEnded)) return "unknown";
  const { end } = reason;
  return end.kind === "lost" ? end.cause : end.kind;
}
