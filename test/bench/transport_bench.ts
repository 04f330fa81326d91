// What the connection costs on top of the bare socket library, on loopback in one process. Deno
// prints the ratio of each pair; absolute figures belong to the machine they were taken on.
import { strict as assert } from "node:assert";
import WebSocket from "ws";
import { silentLog } from "../../src/platform/log.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { Connection } from "../../src/transport/connection.ts";
import { dial } from "../../src/transport/dial.ts";
import { createNetwork } from "../../src/transport/network.ts";
import { TestCore } from "../transport/test_core.ts";

const SMALL = {
  type: "delta",
  id: "run-1",
  payload: { delta: "x".repeat(120), sequence: 1 },
};
const LARGE = {
  type: "workspace_export_result",
  id: "e-1",
  payload: { chunk: "A".repeat(87_384) },
};
const CASES = [
  { name: "2,000 frames of 200 B", frame: SMALL, count: 2_000 },
  { name: "100 chunks of 64 KiB as base64", frame: LARGE, count: 100 },
];

/** A Core that counts what it gets and floods on demand. */
async function openCore() {
  const core = await TestCore.start();
  let expected = 0;
  let arrived = () => {};
  core.onSocket = (socket) => {
    peers.push(socket);
    socket.on("message", () => {
      if (--expected === 0) arrived();
    });
  };
  const peers: WebSocket[] = [];
  return {
    core,
    peer: () => peers.at(-1),
    expect(count: number) {
      expected = count;
      return new Promise<void>((resolve) => arrived = resolve);
    },
  };
}

async function openBare(url: string): Promise<WebSocket> {
  const socket = new WebSocket(url, {
    perMessageDeflate: false,
    maxPayload: 4_194_304,
  });
  await new Promise((resolve) => socket.once("open", resolve));
  return socket;
}

async function openOurs(wsUrl: string): Promise<Connection> {
  const outcome = await dial({
    wsUrl,
    deviceId: "d",
    credential: "c",
    version: "0.12.0",
    userAgent: "bench",
    network: createNetwork({ proxy: {} }),
    clock: systemClock,
  });
  assert(outcome.ok);
  return new Connection(outcome.socket, {
    clock: systemClock,
    log: silentLog,
    heartbeatInterval: 15_000,
  });
}

for (const { name, frame, count } of CASES) {
  const text = JSON.stringify(frame);

  Deno.bench(
    `out: bare ws, ${name}`,
    { group: `out ${name}`, baseline: true },
    async (b) => {
      const { core, expect } = await openCore();
      const socket = await openBare(core.wsUrl);
      const all = expect(count);
      b.start();
      for (let n = 0; n < count; n++) socket.send(JSON.stringify(frame));
      await all;
      b.end();
      socket.terminate();
      await core[Symbol.asyncDispose]();
    },
  );

  Deno.bench(
    `out: connection, ${name}`,
    { group: `out ${name}` },
    async (b) => {
      const { core, expect } = await openCore();
      const connection = await openOurs(core.wsUrl);
      const all = expect(count);
      b.start();
      // As a Turn does: one frame after the other, each awaited.
      for (let n = 0; n < count; n++) await connection.send(frame);
      await all;
      b.end();
      await connection.close();
      await core[Symbol.asyncDispose]();
    },
  );

  Deno.bench(`out: connection with 4 senders, ${name}`, {
    group: `out ${name}`,
  }, async (b) => {
    const { core, expect } = await openCore();
    const connection = await openOurs(core.wsUrl);
    const all = expect(count);
    b.start();
    await Promise.all(Array.from({ length: 4 }, async () => {
      for (let n = 0; n < count / 4; n++) await connection.send(frame);
    }));
    await all;
    b.end();
    await connection.close();
    await core[Symbol.asyncDispose]();
  });

  Deno.bench(
    `in: bare ws, ${name}`,
    { group: `in ${name}`, baseline: true },
    async (b) => {
      const { core, peer } = await openCore();
      const socket = await openBare(core.wsUrl);
      let left = count;
      const all = new Promise<void>((resolve) =>
        socket.on("message", (data) => {
          JSON.parse(data.toString());
          if (--left === 0) resolve();
        })
      );
      b.start();
      for (let n = 0; n < count; n++) peer()?.send(text);
      await all;
      b.end();
      socket.terminate();
      await core[Symbol.asyncDispose]();
    },
  );

  Deno.bench(`in: connection, ${name}`, { group: `in ${name}` }, async (b) => {
    const { core, peer } = await openCore();
    const connection = await openOurs(core.wsUrl);
    b.start();
    for (let n = 0; n < count; n++) peer()?.send(text);
    for (let n = 0; n < count; n++) await connection.receive();
    b.end();
    await connection.close();
    await core[Symbol.asyncDispose]();
  });
}
