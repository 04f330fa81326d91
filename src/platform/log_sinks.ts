/**
 * Where log events go in production: LogTape with one sink, stderr or a rotated file. Every line
 * passes the redactor.
 */
import { configureSync, getLogger, type LogRecord } from "@logtape/logtape";
import { getRotatingFileSink } from "@logtape/file";
import type { Clock } from "./clock.ts";
import type { Log, LogFields } from "./log.ts";
import { jsonLine, type LogLevelName, textLine } from "./log_line.ts";
import type { Redactor } from "./redaction.ts";

/** A log file is closed and renamed at this size. */
const ROTATION_BYTES = 10 * 1024 * 1024;
/** Rotated files that are kept beside the current one. */
const KEPT_FILES = 5;

/** How events become output. */
export interface LogSinkOptions {
  readonly level: LogLevelName;
  readonly format: "text" | "json";
  readonly redactor: Redactor;
  readonly clock: Clock;
  /** Absolute path; without it lines go to `write`. */
  readonly file?: string;
  /** Writes one complete line, with its end. */
  readonly write: (line: string) => void;
}

/**
 * Routes the events of the process and returns the log to pass around. Calling it again replaces
 * the earlier route.
 */
export function openLog(options: LogSinkOptions): Log {
  const lineOf = options.format === "json" ? jsonLine : textLine;
  const format = (record: LogRecord): string =>
    lineOf({
      at: record.timestamp,
      level: levelName(record.level),
      event: String(record.message[0] ?? ""),
      fields: record.properties,
    }, options.redactor) + "\n";
  const sink = options.file === undefined
    ? (record: LogRecord) => options.write(format(record))
    : getRotatingFileSink(options.file, {
      maxSize: ROTATION_BYTES,
      maxFiles: KEPT_FILES,
      formatter: format,
      bufferSize: 0, // a line that explains a crash must not wait in a buffer
    });
  configureSync({
    reset: true,
    sinks: { output: sink },
    loggers: [
      {
        category: CATEGORY,
        sinks: ["output"],
        lowestLevel: options.level === "warn" ? "warning" : options.level,
      },
      { category: "logtape", sinks: ["output"], lowestLevel: "error" },
    ],
  });
  return logWith(options.clock, {});
}

const CATEGORY = "agent-daemon";

function levelName(level: LogRecord["level"]): LogLevelName {
  switch (level) {
    case "trace":
    case "debug":
      return "debug";
    case "info":
      return "info";
    case "warning":
      return "warn";
    case "error":
    case "fatal":
      return "error";
  }
}

function logWith(clock: Clock, context: LogFields): Log {
  const logger = getLogger(CATEGORY);
  // The event goes in as a property-free message: its braces, if any, must not be a template.
  const emit = (
    level: "debug" | "info" | "warning" | "error",
    event: string,
    fields: LogFields | undefined,
  ) =>
    logger.emit({
      level,
      message: [event],
      rawMessage: event,
      timestamp: clock.now(),
      properties: { ...context, ...fields },
    });
  return {
    debug: (event, fields) => emit("debug", event, fields),
    info: (event, fields) => emit("info", event, fields),
    warn: (event, fields) => emit("warning", event, fields),
    error: (event, fields) => emit("error", event, fields),
    with: (fields) => logWith(clock, { ...context, ...fields }),
  };
}
