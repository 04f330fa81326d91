// Owns the names of what can be traced and counted, and the telemetry that does nothing. Attributes
// are fixed words, engine kinds and bounded codes: no id, no payload and no text of a model or peer.

/** What a span is about: a Run, the preparation of an Executor, or a transfer. */
export type SpanName = "run" | "preparation" | "transfer";

/** What is counted. Bytes of transfers; everything else by one. */
export type CounterName =
  | "connections_opened"
  | "connections_ended"
  | "receipts"
  | "transfer_bytes";

/** What is read when a collection asks for it. */
export type GaugeName = "runs_active" | "outbound_queue_frames";

/** Words and codes of the wire, by name. */
export type Attributes = Readonly<Record<string, string>>;

/** Something that began. Without an end it is never exported: an unknown outcome stays unknown. */
export interface Span {
  /** Ends it; further calls do nothing. `outcome` is a fixed word or a code of the wire. */
  end(outcome: string): void;
}

/** Where spans and counts go. Nothing here throws, and nothing is called for a delta. */
export interface Telemetry {
  /** Begins a span below `parent`, a W3C traceparent; a root of its own without a valid one. */
  begin(
    name: SpanName,
    parent: string | undefined,
    attributes: Attributes,
  ): Span;
  /** Adds to a counter. */
  count(name: CounterName, by: number, attributes: Attributes): void;
  /** Lets collections read a gauge from now on. Called once for each name. */
  observe(name: GaugeName, read: () => number): void;
}

const NO_SPAN: Span = { end() {} };

/** Records nothing. */
export const noTelemetry: Telemetry = {
  begin: () => NO_SPAN,
  count() {},
  observe() {},
};
