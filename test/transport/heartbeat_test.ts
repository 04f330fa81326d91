// The rhythm of heartbeats.
import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Envelope } from "../../src/protocol/envelope.ts";
import type { Heartbeat } from "../../src/protocol/heartbeat.ts";
import { startHeartbeats } from "../../src/transport/heartbeat.ts";
import { RecordingLog } from "../support/recording_log.ts";
import { settleEvents, VirtualClock } from "../support/virtual_clock.ts";

/** A connection that records heartbeats with their time and answers as told. */
function rig(interval: number) {
  const clock = new VirtualClock();
  const log = new RecordingLog();
  const abort = new AbortController();
  const sent: { readonly at: number; readonly envelope: Envelope }[] = [];
  const signals: (AbortSignal | undefined)[] = [];
  let written = 0;
  let active = 0;
  const script = {
    send: (_signal?: AbortSignal): Promise<void> => Promise.resolve(),
    payload: (): Heartbeat => ({ ts: 1, active_requests: active++ }),
  };
  const heartbeats = startHeartbeats({
    connection: {
      signal: abort.signal,
      send(envelope, signal) {
        sent.push({ at: clock.monotonic(), envelope });
        signals.push(signal);
        return script.send(signal);
      },
    },
    clock,
    log,
    interval,
    payload: () => script.payload(),
    onWritten: () => written++,
  });
  return {
    clock,
    log,
    abort,
    sent,
    signals,
    script,
    heartbeats,
    written: () => written,
  };
}

Deno.test("the first heartbeat is sent at once, also with an interval of an hour", () => {
  const { sent, heartbeats, clock } = rig(3_600_000);
  assertEquals(sent.length, 1);
  assertEquals(sent[0]?.envelope, {
    type: "heartbeat",
    payload: { ts: 1, active_requests: 0 },
  });
  heartbeats.stop();
  assertEquals(clock.pendingTimers, 1); // the send's own budget, until it settles
});

Deno.test("then one at each interval, each with a payload of its own and without an id", async () => {
  const { clock, sent, heartbeats, written } = rig(7_000);
  await clock.advance(21_000);
  assertEquals(sent.map((one) => one.at), [0, 7_000, 14_000, 21_000]);
  assertEquals(
    sent.map((one) => (one.envelope.payload as Heartbeat).active_requests),
    [0, 1, 2, 3],
  );
  assertEquals(sent.every((one) => one.envelope.id === undefined), true);
  assertEquals(written(), 4);
  heartbeats.stop();
  await settleEvents();
  assertEquals(clock.pendingTimers, 0);
  await clock.advance(100_000);
  assertEquals(sent.length, 4);
});

Deno.test("a send is given up after one interval, logged, and the rhythm goes on", async () => {
  const { clock, log, sent, script, heartbeats } = rig(10_000);
  await settleEvents();
  script.send = (signal) =>
    new Promise((_resolve, reject) =>
      signal?.addEventListener("abort", () => reject(signal.reason))
    );
  await clock.advance(30_000);
  assertEquals(sent.map((one) => one.at), [0, 10_000, 20_000, 30_000]);
  assertEquals(log.events.map((event) => event.event), [
    "heartbeat_failed",
    "heartbeat_failed",
  ]);
  assertStringIncludes(log.text, "DeadlineExceeded");
  heartbeats.stop();
  await clock.advance(10_000);
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("a payload that cannot be made is logged; nothing is sent and the rhythm goes on", async () => {
  const { clock, log, sent, script, heartbeats } = rig(10_000);
  script.payload = () => {
    throw new TypeError("undecided capability");
  };
  await clock.advance(10_000);
  assertEquals(sent.length, 1);
  assertEquals(log.events[0]?.level, "warn");
  script.payload = () => ({ ts: 2, active_requests: 0 });
  await clock.advance(10_000);
  assertEquals(sent.length, 2);
  heartbeats.stop();
  await settleEvents();
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("heartbeats stop with the connection and its end is not logged again", async () => {
  const { abort, clock, log, sent, script } = rig(10_000);
  script.send = () => Promise.reject(new Error("ended"));
  abort.abort(new Error("ended"));
  await clock.advance(100_000);
  assertEquals(sent.length, 1);
  assertEquals(log.events, []);
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("no heartbeat is sent on a connection that has ended", async () => {
  const clock = new VirtualClock();
  let sends = 0;
  startHeartbeats({
    connection: {
      signal: AbortSignal.abort(),
      send: () => Promise.resolve(void sends++),
    },
    clock,
    log: new RecordingLog(),
    interval: 1_000,
    payload: () => ({ ts: 1, active_requests: 0 }),
    onWritten() {},
  });
  await clock.advance(5_000);
  assertEquals(sends, 0);
  assertEquals(clock.pendingTimers, 0);
});
