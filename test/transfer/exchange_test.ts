import { assertEquals } from "@std/assert";
import { createHash } from "node:crypto";
import fc from "fast-check";
import { type Applied, Exchange } from "../../src/transfer/exchange.ts";
import { TransferBody } from "../../src/transfer/body.ts";
import { deferred } from "../../src/platform/deferred.ts";
import { settleEvents, VirtualClock } from "../support/virtual_clock.ts";

const content = new TextEncoder().encode("hello world");
const sha256 = createHash("sha256").update(content).digest("hex");

interface Setup {
  readonly budgetCoversApplication?: boolean;
  readonly declaredSize?: number;
  readonly declaredDigest?: string;
}

function setup(options: Setup = {}) {
  const clock = new VirtualClock();
  const gate = deferred<Applied<number, string>>();
  const applied: Uint8Array[] = [];
  let stop: AbortSignal | undefined;
  const exchange = new Exchange<number, string>({
    declared: {
      sizeBytes: options.declaredSize ?? content.length,
      sha256: options.declaredDigest ?? sha256,
    },
    clock,
    budget: 120_000,
    budgetCoversApplication: options.budgetCoversApplication ?? false,
    apply: (body, signal) => {
      applied.push(body.concatenated());
      stop = signal;
      return gate.promise;
    },
  });
  return { clock, gate, applied, exchange, aborted: () => stop?.aborted };
}

Deno.test("nothing is applied before a commit of exactly the declared bytes", async (t) => {
  const cases: readonly (readonly [
    string,
    Setup,
    (e: Exchange<number, string>) => void,
  ])[] = [
    ["a gap", {}, (e) => void e.chunk(1, content)],
    ["a repeat", {}, (e) => {
      e.chunk(0, content.subarray(0, 5));
      e.chunk(0, content.subarray(0, 5));
    }],
    [
      "one byte too many",
      {},
      (e) => void e.chunk(0, new Uint8Array([...content, 0])),
    ],
    ["an early commit", {}, (e) => {
      e.chunk(0, content.subarray(0, 5));
      e.commit();
    }],
    ["another digest", { declaredDigest: "0".repeat(64) }, (e) => {
      e.chunk(0, content);
      e.commit();
    }],
    ["a close", {}, (e) => {
      e.chunk(0, content);
      e.close();
    }],
  ];
  for (const [name, options, act] of cases) {
    await t.step(name, async () => {
      const { exchange, applied, clock } = setup(options);
      act(exchange);
      assertEquals(await exchange.result, { outcome: "invalid" });
      assertEquals(applied, []);
      assertEquals(exchange.chunk(0, content), undefined);
      exchange.commit();
      assertEquals(clock.pendingTimers, 0);
    });
  }
});

Deno.test("the body that is applied is the body that was sent, and each chunk answers the total", async () => {
  const { exchange, applied, gate, clock } = setup();
  assertEquals(exchange.chunk(0, content.subarray(0, 4)), 4);
  assertEquals(exchange.chunk(4, content.subarray(4)), content.length);
  exchange.commit();
  assertEquals(applied, [content]);
  gate.resolve({ outcome: "completed", value: 11 });
  assertEquals(await exchange.result, { outcome: "completed", value: 11 });
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("an empty body needs no chunk", async () => {
  const empty = createHash("sha256").digest("hex");
  const { exchange, gate } = setup({ declaredSize: 0, declaredDigest: empty });
  exchange.commit();
  gate.resolve({ outcome: "refused", value: "why" });
  assertEquals(await exchange.result, { outcome: "refused", value: "why" });
});

Deno.test("the budget ends reception at its millisecond", async () => {
  const { exchange, clock } = setup();
  exchange.chunk(0, content);
  await clock.advance(119_999);
  assertEquals(exchange.receiving, true);
  await clock.advance(1);
  assertEquals(exchange.receiving, false);
  assertEquals(await exchange.result, { outcome: "invalid" });
});

Deno.test("a budget that covers the application asks it to stop and still waits for it", async () => {
  const { exchange, clock, gate, aborted } = setup({
    budgetCoversApplication: true,
  });
  exchange.chunk(0, content);
  exchange.commit();
  let settled = false;
  exchange.result.then(() => settled = true);
  await clock.advance(120_000);
  assertEquals(aborted(), true);
  assertEquals(settled, false);
  gate.resolve({ outcome: "unknown" });
  assertEquals(await exchange.result, { outcome: "unknown" });
});

Deno.test("a budget that ends with the commit leaves the application alone", async () => {
  const { exchange, clock, gate, aborted } = setup();
  exchange.chunk(0, content);
  exchange.commit();
  await clock.advance(3_600_000);
  assertEquals(aborted(), false);
  gate.reject(new Error("the disk"));
  await settleEvents();
  assertEquals(await exchange.result, { outcome: "unknown" });
});

Deno.test("any cut into chunks gives the same body, and the held bytes never pass the declaration", () => {
  fc.assert(fc.property(
    fc.uint8Array({ maxLength: 2000 }),
    fc.array(fc.integer({ min: 1, max: 300 }), { maxLength: 50 }),
    (whole, cuts) => {
      const body = new TransferBody({
        sizeBytes: whole.length,
        sha256: createHash("sha256").update(whole).digest("hex"),
      });
      let offset = 0;
      for (const cut of [...cuts, whole.length]) {
        const chunk = whole.subarray(offset, offset + cut);
        if (chunk.length === 0) break;
        assertEquals(body.append(offset, chunk), true);
        offset += chunk.length;
        if (offset < whole.length) {
          assertEquals(body.append(0, new Uint8Array(1)), offset === 0);
        }
        if (body.received !== offset) return;
      }
      assertEquals(body.append(offset, new Uint8Array(1)), false);
      assertEquals(body.concatenated(), new Uint8Array(whole));
      assertEquals(body.check(), "complete");
      body.drop();
      assertEquals(body.chunks, []);
    },
  ));
});

Deno.test("a body of the smallest chunks is kept in as few pieces as one of the largest", () => {
  const size = 70_000;
  const body = new TransferBody({ sizeBytes: size });
  for (let offset = 0; offset < size; offset++) {
    body.append(offset, new Uint8Array([offset % 251]));
  }
  assertEquals(body.chunks.map(({ length }) => length), [
    65_536,
    size - 65_536,
  ]);
  const whole = body.concatenated();
  assertEquals(whole.every((byte, offset) => byte === offset % 251), true);
  assertEquals(body.check(), "complete");
});

Deno.test("a small body takes no more room than it declared", () => {
  const body = new TransferBody({ sizeBytes: 5 });
  body.append(0, new Uint8Array(2));
  const room = body.chunks.map(({ buffer }) => buffer.byteLength);
  assertEquals(room, [5]);
});
