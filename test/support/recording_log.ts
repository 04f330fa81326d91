import type { Log, LogFields } from "../../src/platform/log.ts";

/** One recorded event. */
export interface RecordedEvent {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly event: string;
  readonly fields: LogFields;
}

/** Keeps every event for assertions; `text` is what a secret search greps. */
export class RecordingLog implements Log {
  readonly events: RecordedEvent[];
  readonly #context: LogFields;

  constructor(events: RecordedEvent[] = [], context: LogFields = {}) {
    this.events = events;
    this.#context = context;
  }

  debug(event: string, fields?: LogFields): void {
    this.#record("debug", event, fields);
  }
  info(event: string, fields?: LogFields): void {
    this.#record("info", event, fields);
  }
  warn(event: string, fields?: LogFields): void {
    this.#record("warn", event, fields);
  }
  error(event: string, fields?: LogFields): void {
    this.#record("error", event, fields);
  }
  with(fields: LogFields): Log {
    return new RecordingLog(this.events, { ...this.#context, ...fields });
  }

  /** Everything recorded, errors with message, stack and causes. */
  get text(): string {
    return JSON.stringify(
      this.events,
      (_key, value) =>
        value instanceof Error
          ? {
            name: value.name,
            message: value.message,
            stack: value.stack,
            cause: value.cause,
          }
          : value,
    );
  }

  #record(
    level: RecordedEvent["level"],
    event: string,
    fields: LogFields = {},
  ): void {
    this.events.push({ level, event, fields: { ...this.#context, ...fields } });
  }
}
