/**
 * Stop signals: the first one asks for a graceful end, the second one forces it. Where the system
 * cannot send SIGTERM, a file in the state directory asks for the same.
 */
import type { Log } from "../platform/log.ts";
import type { OperatingSystem } from "./outside.ts";

/** The signals that stop, with the number that 128 is added to. */
const NUMBERS = { SIGINT: 2, SIGTERM: 15 } as const;

/** The name of a signal that stops. */
export type StopSignalName = keyof typeof NUMBERS;

/** What happens on the two stops. */
export interface StopHandlers {
  readonly log: Log;
  readonly operatingSystem: OperatingSystem;
  /** Each stop after the first one, with the exit code that it asks for. */
  readonly onForced: (exitCode: number) => void;
}

/** Receives stops until {@linkcode StopSignals.forget}. */
export interface StopSignals {
  /** Aborts at the first stop. */
  readonly stop: AbortSignal;
  /** A stop that did not come as a signal; counts like one. */
  request(name: StopSignalName): void;
  /** Ends the daemon gracefully without anyone having asked: its work is done. */
  finish(): void;
  /** Stops listening. */
  forget(): void;
}

/** Starts to listen. */
export function listenForStops(handlers: StopHandlers): StopSignals {
  const controller = new AbortController();
  const receive = (name: StopSignalName) => {
    if (!controller.signal.aborted) {
      handlers.log.info("stop_requested", { signal: name });
      controller.abort(new Error(`stopped by ${name}`));
      return;
    }
    handlers.log.warn("stop_forced", { signal: name });
    handlers.onForced(128 + NUMBERS[name]);
  };
  // SIGTERM does not exist on Windows; its stop comes as a file.
  const names: readonly StopSignalName[] = handlers.operatingSystem ===
      "windows"
    ? ["SIGINT"]
    : ["SIGINT", "SIGTERM"];
  const listeners = names.map((name) => {
    const listener = () => receive(name);
    Deno.addSignalListener(name, listener);
    return () => Deno.removeSignalListener(name, listener);
  });
  return {
    stop: controller.signal,
    request: receive,
    finish: () => controller.abort(new Error("finished")),
    forget: () => listeners.forEach((remove) => remove()),
  };
}
