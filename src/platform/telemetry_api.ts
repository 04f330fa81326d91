// Owns the way of spans and metrics into the OpenTelemetry API. Deno itself puts an exporter behind
// that API when it was started with `OTEL_DENO=true`; without one everything here does nothing.
import {
  type Counter,
  metrics,
  ROOT_CONTEXT,
  trace,
  TraceFlags,
} from "@opentelemetry/api";
import type { Context, Tracer } from "@opentelemetry/api";
import type {
  Attributes,
  CounterName,
  GaugeName,
  SpanName,
  Telemetry,
} from "./telemetry.ts";

/** The name of the instrumentation, and the common start of its names. */
const SCOPE = "agent_daemon";

const COUNTERS: Readonly<Record<CounterName, { name: string; unit: string }>> =
  {
    connections_opened: { name: "connections.opened", unit: "{connection}" },
    connections_ended: { name: "connections.ended", unit: "{connection}" },
    receipts: { name: "receipts", unit: "{receipt}" },
    transfer_bytes: { name: "transfer.bytes", unit: "By" },
  };

const GAUGES: Readonly<Record<GaugeName, { name: string; unit: string }>> = {
  runs_active: { name: "runs.active", unit: "{run}" },
  outbound_queue_frames: { name: "outbound_queue.frames", unit: "{frame}" },
};

/** Whether spans go anywhere: the Deno that runs this program has an exporter and it is on. */
export function hasExporter(): boolean {
  const probe = trace.getTracer(SCOPE).startSpan("probe");
  return probe.isRecording(); // never ended, so never exported
}

/** Telemetry through the API's global providers. */
export function openTelemetry(version: string): Telemetry {
  const tracer = trace.getTracer(SCOPE, version);
  const meter = metrics.getMeter(SCOPE, version);
  const counters = new Map<CounterName, Counter>();
  const counter = (name: CounterName): Counter => {
    const known = counters.get(name);
    if (known !== undefined) return known;
    const { name: full, unit } = COUNTERS[name];
    const made = meter.createCounter(`${SCOPE}.${full}`, { unit });
    counters.set(name, made);
    return made;
  };
  return {
    begin: (name, parent, attributes) =>
      begin(tracer, name, parent, attributes),
    count: (name, by, attributes) =>
      counter(name).add(by, prefixed(attributes)),
    observe(name, read) {
      const { name: full, unit } = GAUGES[name];
      const gauge = meter.createObservableGauge(`${SCOPE}.${full}`, { unit });
      gauge.addCallback((result) => result.observe(read()));
    },
  };
}

function begin(
  tracer: Tracer,
  name: SpanName,
  parent: string | undefined,
  attributes: Attributes,
): ReturnType<Telemetry["begin"]> {
  const span = tracer.startSpan(
    name,
    { attributes: prefixed(attributes) },
    contextOf(parent),
  );
  let ended = false;
  return {
    end(outcome) {
      if (ended) return;
      ended = true;
      span.setAttribute(`${SCOPE}.outcome`, outcome);
      span.end();
    },
  };
}

function prefixed(attributes: Attributes): Record<string, string> {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [
      `${SCOPE}.${name}`,
      value,
    ]),
  );
}

const TRACEPARENT =
  /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Always a remote parent: spans of this program never nest by accident of the call order. */
function contextOf(parent: string | undefined): Context {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(parent ?? "") ?? [];
  if (!traceId || !spanId || !flags) return ROOT_CONTEXT;
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED,
    isRemote: true,
  });
}
