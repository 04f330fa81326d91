/** What telemetry learns about connections, over real ones on a socket in memory. */
import { assertEquals, assertRejects } from "@std/assert";
import { observeSessions } from "../../src/cli/session_telemetry.ts";
import { silentLog } from "../../src/platform/log.ts";
import { Connection } from "../../src/transport/connection.ts";
import { ConnectionEnded } from "../../src/transport/send_error.ts";
import { RecordingTelemetry } from "../support/recording_telemetry.ts";
import { VirtualClock } from "../support/virtual_clock.ts";
import { FakeSocket } from "../transport/fake_socket.ts";

function connect() {
  const clock = new VirtualClock();
  const socket = new FakeSocket({ clock, writes: "hold" });
  const connection = new Connection(socket, {
    clock,
    log: silentLog,
    heartbeatInterval: 15_000,
  });
  return { clock, socket, connection };
}

Deno.test("the gauges read the newest connection and router, at the moment they are asked", async () => {
  const telemetry = new RecordingTelemetry();
  const routers: { readonly activeRuns: number }[] = [];
  const opened = observeSessions(telemetry, () => routers[0]);
  const read = () => [...telemetry.gauges.values()].map((gauge) => gauge());
  assertEquals([...telemetry.gauges.keys()], [
    "runs_active",
    "outbound_queue_frames",
  ]);
  assertEquals(read(), [0, 0]);
  const { connection } = connect();
  opened(connection);
  routers.push({ activeRuns: 3 });
  const sent = [1, 2].map((n) => connection.send({ type: `n${n}` }));
  assertEquals(read(), [3, 2]);
  await connection.close();
  for (const each of sent) await assertRejects(() => each, ConnectionEnded);
  assertEquals(read(), [3, 0]);
  opened(connect().connection);
  assertEquals(telemetry.gauges.size, 2);
});

for (
  const [code, word] of [
    [1000, "closed_by_core"],
    [4001, "retired"],
    [1006, "no_close_frame"],
    [1011, "close_code"],
  ] as const
) {
  Deno.test(`a connection that ends with ${code} is counted once as ${word}`, async () => {
    const telemetry = new RecordingTelemetry();
    const { connection, socket } = connect();
    observeSessions(telemetry, () => undefined)(connection);
    assertEquals(telemetry.counted("connections_opened"), ["1"]);
    assertEquals(telemetry.counted("connections_ended"), []);
    socket.end(code);
    await connection.close();
    assertEquals(telemetry.counted("connections_ended"), [`${word} 1`]);
  });
}

Deno.test("a connection that ended before it was told about still has its end", async () => {
  const telemetry = new RecordingTelemetry();
  const { connection } = connect();
  await connection.close();
  observeSessions(telemetry, () => undefined)(connection);
  assertEquals(telemetry.counted("connections_ended"), ["closed_here 1"]);
});
