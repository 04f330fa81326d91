/**
 * Logging as a parameter. An event has a stable name and small fields: ids, codes, counts and
 * durations. Payloads, prompts, tool output, credentials and peer texts are never fields.
 */

/** What a field of a log event may hold. An `Error` keeps its name, message and causes. */
export type LogValue =
  | string
  | number
  | boolean
  | null
  | undefined
  | Error
  | readonly LogValue[];

/** Fields of one log event. */
export type LogFields = Readonly<Record<string, LogValue>>;

/** A sink for structured events. */
export interface Log {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** A log that adds `fields` to each of its events. */
  with(fields: LogFields): Log;
}

/** Drops every event. */
export const silentLog: Log = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  with: () => silentLog,
};
