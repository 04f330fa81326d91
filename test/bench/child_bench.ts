// What the whole way costs that a model's words take: a child's line, the adapter, the Run, the frame
// on a real WebSocket. Against the same child read bare, and read and sent on bare.
import { strict as assert } from "node:assert";
import { fromFileUrl } from "@std/path";
import WebSocket from "ws";
import type { DiscoveredHarness } from "../../src/harness/contract.ts";
import { HarnessRegistry } from "../../src/harness/registry.ts";
import { spawnChild } from "../../src/harness/supervised_child.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { systemIds } from "../../src/platform/ids.ts";
import { silentLog } from "../../src/platform/log.ts";
import { createRouter } from "../../src/runtime/router.ts";
import { Connection } from "../../src/transport/connection.ts";
import { dial } from "../../src/transport/dial.ts";
import { createNetwork } from "../../src/transport/network.ts";
import { scriptedHarness } from "../support/scripted_harness/adapter.ts";
import { TestCore } from "../transport/test_core.ts";

/** Deltas of one Turn. */
const COUNT = 2_000;
const WORD = "word ";
const GROUP = { group: `${COUNT} lines of a child`, n: 12, warmup: 3 };

/** A Core that hands each frame it gets to whoever waits for its type. */
class Peer {
  readonly core: TestCore;
  readonly #waiting = new Map<string, (frame: Frame) => void>();
  #socket: WebSocket | undefined;
  #types = new Map<string, number>();

  private constructor(core: TestCore) {
    this.core = core;
    core.onSocket = (socket) => {
      this.#socket = socket;
      socket.on("message", (data) => this.#take(JSON.parse(data.toString())));
    };
  }

  static async start(): Promise<Peer> {
    return new Peer(await TestCore.start());
  }

  send(type: string, id: string, payload: unknown): void {
    this.#socket?.send(JSON.stringify({ type, id, payload }));
  }

  /** The next frame of a type. */
  next(type: string): Promise<Frame> {
    return new Promise((resolve) => this.#waiting.set(type, resolve));
  }

  /** The `count`th frame of a type from now on. */
  async counted(type: string, count: number): Promise<void> {
    this.#types.set(type, 0);
    for (;;) {
      const arrived = this.next(type);
      if (this.received(type) >= count) return;
      await arrived;
    }
  }

  received(type: string): number {
    return this.#types.get(type) ?? 0;
  }

  #take(frame: Frame): void {
    const { type } = frame;
    this.#types.set(type, this.received(type) + 1);
    const waiting = this.#waiting.get(type);
    this.#waiting.delete(type);
    waiting?.(frame);
  }
}

interface Frame {
  readonly type: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

function startSource() {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-check",
      fromFileUrl(new URL("./line_source.ts", import.meta.url)),
      String(COUNT),
      WORD,
    ],
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const input = child.stdin.getWriter();
  const output = child.stdout.getReader();
  return {
    ask: () => input.write(new Uint8Array([0x0a])),
    /** Reads `COUNT` lines. */
    async lines(take: (line: string) => void): Promise<void> {
      const decoder = new TextDecoder();
      let rest = "";
      for (let seen = 0; seen < COUNT;) {
        const { value } = await output.read();
        const parts = (rest + decoder.decode(value, { stream: true }))
          .split("\n");
        rest = parts.pop() ?? "";
        seen += parts.length;
        parts.forEach(take);
      }
    },
    async end(): Promise<void> {
      await input.close();
      await output.cancel();
      await child.status;
    },
  };
}

Deno.bench("bare pipe: read, split, parse", {
  ...GROUP,
  baseline: true,
}, async (b) => {
  const source = startSource();
  await source.ask();
  await source.lines(() => {}); // the child is up and warm
  b.start();
  await source.ask();
  await source.lines((line) => JSON.parse(line));
  b.end();
  await source.end();
});

Deno.bench("bare pipe to bare ws", GROUP, async (b) => {
  const peer = await Peer.start();
  const socket = new WebSocket(peer.core.wsUrl, { perMessageDeflate: false });
  await new Promise((resolve) => socket.once("open", resolve));
  const source = startSource();
  await source.ask();
  await source.lines(() => {});
  const all = peer.counted("delta", COUNT);
  b.start();
  await source.ask();
  let sequence = 0;
  await source.lines((line) => {
    const delta = JSON.parse(line).text;
    const payload = { delta, sequence: ++sequence };
    socket.send(JSON.stringify({ type: "delta", id: "run", payload }));
  });
  await all;
  b.end();
  socket.terminate();
  await source.end();
  await peer.core[Symbol.asyncDispose]();
});

async function discover(stateDirectory: string): Promise<DiscoveredHarness> {
  const harness = await scriptedHarness({
    closeGrace: {
      afterEndOfInput: 2_000,
      afterTerminate: 1_000,
      afterKill: 1_000,
    },
  }).discover({
    environment: Deno.env.toObject(),
    stateDirectory,
    bound: false,
    permissions: "unattended",
    operatingSystem: "linux",
    clock: systemClock,
    ids: systemIds,
    log: silentLog,
    spawn: spawnChild,
  });
  assert(harness?.available);
  return harness;
}

async function openDaemon(wsUrl: string, stateDirectory: string) {
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
  const connection = new Connection(outcome.socket, {
    clock: systemClock,
    log: silentLog,
    heartbeatInterval: 15_000,
  });
  const harnesses = new HarnessRegistry();
  harnesses.register(await discover(stateDirectory));
  const router = createRouter({
    clock: systemClock,
    ids: systemIds,
    log: silentLog,
    sender: connection,
    harnesses,
  });
  const pumped = (async () => {
    for (;;) {
      const envelope = await connection.receive();
      if (!envelope) return;
      router.handle(envelope);
    }
  })();
  return async () => {
    await connection.close();
    await router.shutdown();
    await pumped;
  };
}

/** Prepares an Executor; the payload that starts a Turn of `COUNT` words on it. */
async function prepared(peer: Peer): Promise<Record<string, unknown>> {
  const sessionId = systemIds.uuid();
  const preparing = peer.next("preparation_status");
  peer.send("execution_prepare", "prepare", {
    session_id: sessionId,
    configuration: {
      agent_kind: "contract",
      run_id: "",
      agent_state_key: `agents-api-${sessionId}`,
      disable_execution_environment: true,
    },
  });
  await preparing;
  const { payload } = await peer.next("preparation_status");
  assert.equal(payload.state, "ready");
  const text = `say ${WORD.repeat(COUNT).trim()}`;
  return {
    executor_id: payload.executor_id,
    handle: payload.handle,
    run_id: "run",
    input: [{ content: [{ type: "input_text", text }] }],
  };
}

Deno.bench("ours: Harness to Run to Core", GROUP, async (b) => {
  const peer = await Peer.start();
  const stateDirectory = await Deno.makeTempDir();
  const close = await openDaemon(peer.core.wsUrl, stateDirectory);
  const start = await prepared(peer);
  const done = peer.next("done");
  b.start();
  peer.send("execution_start", "prepare", start);
  await done;
  b.end();
  assert.equal(peer.received("delta"), COUNT);
  await close();
  await peer.core[Symbol.asyncDispose]();
  await Deno.remove(stateDirectory, { recursive: true });
});
