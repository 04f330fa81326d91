/**
 * The real program with `OTEL_DENO=true` and a collector on loopback: spans join Core's trace, the
 * metrics arrive, and nothing that leaves the process quotes a secret, a prompt or an answer.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { LoopbackCore } from "../../src/loopback/core.ts";
import type { DeviceSession } from "../../src/loopback/device_session.ts";
import { processTable } from "../../src/harness/process_table.ts";
import { systemClock, within } from "../../src/platform/clock.ts";
import { systemIds } from "../../src/platform/ids.ts";
import { makePlace, type Place } from "./command_line.ts";
import {
  CONTRACT,
  daemonWords,
  DEVICE,
  startDaemon,
  TOKEN,
} from "./running_daemon.ts";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const SPAN_ID = "b7ad6b7169203331";
const PROMPT = "canary-prompt-5511";
const PROVIDER_KEY = "canary-provider-key-5512";
const EXPORTER_KEY = "canary-exporter-key-5513";

/** How long a test waits for an export before it fails, in milliseconds. */
const PATIENCE = 20_000;

/** What a collector got, by path: bodies of JSON. */
interface Collector {
  readonly endpoint: string;
  readonly bodies: ReadonlyMap<string, string[]>;
  readonly text: () => string;
  /** Resolves once what arrived so far `fits`. */
  until(fits: () => boolean): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

function startCollector(): Collector {
  const bodies = new Map<string, string[]>();
  const waiting = new Set<() => void>();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      const { pathname } = new URL(request.url);
      const text = await request.text();
      bodies.set(pathname, [...bodies.get(pathname) ?? [], text]);
      for (const look of [...waiting]) look();
      return new Response("{}", {
        headers: { "content-type": "application/json" },
      });
    },
  );
  return {
    endpoint: `http://127.0.0.1:${server.addr.port}`,
    bodies,
    text: () => [...bodies.values()].flat().join("\n"),
    until(fits) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const look = () => {
        if (fits()) resolve();
      };
      waiting.add(look);
      look();
      return within(systemClock, PATIENCE, "the collector", promise);
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** A span as a collector reads it. */
interface ExportedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly parentSpanId: string;
  readonly attributes: readonly {
    readonly key: string;
    readonly value: { readonly stringValue?: string };
  }[];
}

/** The spans of this program's own instrumentation. */
function ownSpans({ bodies }: Collector): ExportedSpan[] {
  return (bodies.get("/v1/traces") ?? []).flatMap((text) =>
    JSON.parse(text).resourceSpans
  ).flatMap((resource) => resource.scopeSpans)
    .filter(({ scope }) => scope.name === "agent_daemon")
    .flatMap(({ spans }) => spans);
}

/** The last value of each of our metrics, by name and attributes. */
function metrics({ bodies }: Collector): Map<string, number> {
  const found = new Map<string, number>();
  const all = (bodies.get("/v1/metrics") ?? []).flatMap((text) =>
    JSON.parse(text).resourceMetrics
  ).flatMap((resource) => resource.scopeMetrics)
    .flatMap((scope) => scope.metrics);
  for (const { name, sum, gauge } of all) {
    for (const point of (sum ?? gauge)?.dataPoints ?? []) {
      const words = point.attributes.map(
        (each: ExportedSpan["attributes"][number]) => each.value.stringValue,
      );
      const value = Number(point.asInt ?? point.asDouble);
      found.set([name, ...words.toSorted()].join(" "), value);
    }
  }
  return found;
}

/** Puts Core's trace on each start, as a Core with tracing does. */
function tracing(session: DeviceSession): DeviceSession {
  const transmit = session.transmit.bind(session);
  session.transmit = (frame) =>
    transmit(
      frame.type === "execution_start"
        ? { ...frame, trace: `00-${TRACE_ID}-${SPAN_ID}-01` }
        : frame,
    );
  return session;
}

/** One Turn to its end; `during` is awaited while it holds. */
async function runOneTurn(
  session: DeviceSession,
  during: () => Promise<void>,
): Promise<void> {
  const sessionId = systemIds.uuid();
  const preparation = session.prepare({
    sessionId,
    configuration: {
      agent_kind: "contract",
      run_id: "",
      agent_state_key: `agents-api-${sessionId}`,
      agent_options: { harness_config: { modes: [PROVIDER_KEY] } },
      disable_execution_environment: true,
    },
  });
  assertEquals((await preparation.ready).kind, "ready");
  const run = session.start(preparation, {
    input: [{
      content: [{ type: "input_text", text: `hold ${PROMPT}` }],
    }],
  });
  for await (const event of run) if (event.type === "delta") break;
  await during();
  const receipt = await session.cancel(run.runId);
  assertEquals(receipt.kind, "applied", JSON.stringify(receipt));
}

/** One Turn and an orderly stop of a daemon with these variables. */
async function daemonWith(
  environment: Readonly<Record<string, string>>,
  during: (pid: number) => Promise<void> = () => Promise.resolve(),
): Promise<{ readonly log: string }> {
  await using made = await makePlace();
  const place: Place = {
    ...made,
    environment: { ...made.environment, ...environment },
  };
  const core = await LoopbackCore.start({
    devices: { [DEVICE]: { credential: TOKEN } },
    clock: systemClock,
    ids: systemIds,
  });
  const daemon = startDaemon(
    place,
    await daemonWords(place, core.origin),
    CONTRACT,
  );
  try {
    await runOneTurn(
      tracing(await core.session(DEVICE)),
      () => during(daemon.pid),
    );
    daemon.signal("SIGTERM");
    assertEquals((await daemon.ended).code, 0, daemon.errorText());
    return { log: daemon.errorText() };
  } finally {
    daemon.end();
    await daemon.ended;
    await core.shutdown();
  }
}

/** The names of the variables of each child of a process. */
async function environmentsBelow(pid: number): Promise<string[][]> {
  const entries = await processTable(Deno.build.os).list();
  const children = entries.filter((entry) => entry.parentPid === pid);
  assert(children.length > 0);
  if (Deno.build.os !== "linux") return [];
  return children.map((child) =>
    Deno.readTextFileSync(`/proc/${child.pid}/environ`).split("\0")
      .map((variable) => variable.replace(/=.*/s, ""))
  );
}

function exporting(endpoint: string): Record<string, string> {
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_METRIC_EXPORT_INTERVAL: "50",
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=${EXPORTER_KEY}`,
  };
}

Deno.test("with OTEL_DENO a Run's span joins Core's trace, metrics arrive, and no secret leaves", async () => {
  await using collector = startCollector();
  const { log } = await daemonWith(
    { ...exporting(collector.endpoint), OTEL_DENO: "true" },
    async (pid) => {
      await collector.until(() =>
        metrics(collector).get("agent_daemon.runs.active") === 1
      );
      for (const names of await environmentsBelow(pid)) {
        assert(names.includes("PATH"));
        assert(!names.some((name) => name.startsWith("OTEL_")), String(names));
      }
    },
  );
  const spans = ownSpans(collector);
  const run = spans.find(({ name }) => name === "run");
  assertEquals(run?.traceId, TRACE_ID);
  assertEquals(run?.parentSpanId, SPAN_ID);
  assertEquals(
    run?.attributes.map(({ key, value }) => [key, value.stringValue]).sort(),
    [["agent_daemon.kind", "contract"], ["agent_daemon.outcome", "cancelled"]],
  );
  assert(spans.some(({ name }) => name === "preparation"));
  const counted = metrics(collector);
  assertEquals(counted.get("agent_daemon.connections.opened"), 1);
  assertEquals(counted.get("agent_daemon.connections.ended closed_here"), 1);
  assertEquals(
    counted.get(
      "agent_daemon.receipts applied delivered interaction_decision_ack",
    ),
    1,
  );
  assertEquals(counted.get("agent_daemon.outbound_queue.frames"), 0);
  for (const secret of [TOKEN, PROMPT, PROVIDER_KEY, EXPORTER_KEY]) {
    assert(!collector.text().includes(secret), secret);
    assert(!log.includes(secret), secret);
  }
});

Deno.test("without OTEL_DENO nothing is exported, whatever the other variables say", async () => {
  await using collector = startCollector();
  const { log } = await daemonWith(exporting(collector.endpoint));
  assertEquals([...collector.bodies.keys()], []);
  assert(!log.includes("telemetry"), log);
});

Deno.test("an OTEL_DENO without an exporter is said once, and the daemon works", async () => {
  await using collector = startCollector();
  const { log } = await daemonWith({
    ...exporting(collector.endpoint),
    OTEL_DENO: "true",
    OTEL_SDK_DISABLED: "true",
  });
  assertMatch(log, /"telemetry_unavailable"/);
  assertEquals([...collector.bodies.keys()], []);
});
