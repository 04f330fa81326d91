/**
 * Feeds the watchdog of systemd, but only after proven progress: a daemon that hangs is restarted,
 * one that waits for a Core that is down is not.
 */
import type { Clock, Timer } from "../platform/clock.ts";

/** A running watchdog. */
export interface Watchdog {
  /** Says that the daemon got on: it dialled, wrote a heartbeat, or settled something. */
  progress(): void;
  stop(): void;
}

/** What the watchdog needs. */
export interface WatchdogOptions {
  readonly environment: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** Tells systemd that the service lives. A failure is the caller's to log. */
  readonly notify: () => void;
}

/** Starts feeding at a third of the allowed time; does nothing outside of systemd. */
export function startWatchdog(options: WatchdogOptions): Watchdog {
  const { environment, clock, notify } = options;
  const allowed = Number(environment.WATCHDOG_USEC ?? 0) / 1000;
  if (!(allowed > 0) || !environment.NOTIFY_SOCKET) {
    return { progress() {}, stop() {} };
  }
  let progressed = true;
  let timer: Timer | undefined;
  const beat = () => {
    if (progressed) notify();
    progressed = false;
    timer = clock.after(allowed / 3, beat);
  };
  beat();
  return {
    progress: () => void (progressed = true),
    stop: () => timer?.cancel(),
  };
}
