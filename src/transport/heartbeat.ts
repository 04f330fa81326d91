// Owns the rhythm of heartbeats on one connection. A heartbeat proves life, nothing else.
import { type Clock, deadlineSignal, type Timer } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Heartbeat } from "../protocol/heartbeat.ts";
import type { FrameSender } from "./connection.ts";

/** What the heartbeats of one connection need. */
export interface HeartbeatOptions {
  readonly connection: FrameSender;
  readonly clock: Clock;
  readonly log: Log;
  /** Milliseconds from one heartbeat to the next, and the budget of each send. */
  readonly interval: number;
  /** The payload, computed anew for each heartbeat. */
  readonly payload: () => Heartbeat;
  /** Runs after each local write. */
  readonly onWritten: () => void;
}

/**
 * Sends the first heartbeat at once and then one at each interval until the connection ends or
 * `stop` is called. A failure is logged; the rhythm goes on.
 */
export function startHeartbeats(options: HeartbeatOptions): { stop(): void } {
  const { clock, connection, interval } = options;
  let timer: Timer | undefined;
  let stopped = false;
  const stop = () => {
    stopped = true;
    timer?.cancel();
    connection.signal.removeEventListener("abort", stop);
  };
  const beat = () => {
    if (stopped) return;
    timer = clock.after(interval, beat);
    sendHeartbeat(options);
  };
  connection.signal.addEventListener("abort", stop, { once: true });
  if (connection.signal.aborted) stop();
  beat();
  return { stop };
}

async function sendHeartbeat(options: HeartbeatOptions): Promise<void> {
  const { clock, connection, interval, log } = options;
  const deadline = deadlineSignal(clock, interval, "heartbeat");
  try {
    const payload = options.payload();
    await connection.send({ type: "heartbeat", payload }, deadline.signal);
    options.onWritten();
  } catch (error) {
    if (connection.signal.aborted) return; // its end is reported by its owner
    log.warn("heartbeat_failed", {
      error: error instanceof Error ? error : "not an error",
    });
  } finally {
    deadline.cancel();
  }
}
