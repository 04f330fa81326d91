// One dial against a real Core: every refusal over ws and wss, proxies, and what never leaks.
import {
  assert,
  assertEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { rootCertificates } from "node:tls";
import { deferred } from "../../src/platform/deferred.ts";
import { dial, type DialOutcome } from "../../src/transport/dial.ts";
import { createNetwork } from "../../src/transport/network.ts";
import { describeRefusal } from "../../src/transport/refusal.ts";
import type { WireSocket } from "../../src/transport/wire_socket.ts";
import { settleEvents, VirtualClock } from "../support/virtual_clock.ts";
import { refuseUpgrade, TEST_CERTIFICATE, TestCore } from "./test_core.ts";
import { ConnectProxy } from "./test_proxy.ts";

const DEVICE = "6f0c2d1e-0f54-4b7e-9b36-2b8f1f9d7a10";
const TOKEN = "CANARY-dial-token";

function open(
  core: TestCore,
  changes: Partial<Parameters<typeof dial>[0]> = {},
): Promise<DialOutcome> {
  return dial({
    wsUrl: core.wsUrl,
    deviceId: DEVICE,
    credential: TOKEN,
    version: "0.12.0",
    userAgent: "agent-daemon/test",
    network: createNetwork({
      proxy: {},
      certificateAuthorities: [TEST_CERTIFICATE],
    }),
    clock: new VirtualClock(),
    ...changes,
  });
}

function verdict(outcome: DialOutcome): string {
  if (outcome.ok) return "open";
  const { refusal } = outcome;
  const { source } = refusal;
  const detail = refusal.kind === "permanent"
    ? refusal.reason
    : source.from === "network"
    ? source.fault
    : "status" in source
    ? `${source.from} ${source.status}`
    : "";
  return `${refusal.kind} ${detail}`;
}

/** Ends an open socket and waits until it is gone. */
async function end(outcome: DialOutcome): Promise<void> {
  assert(outcome.ok);
  await endSocket(outcome.socket);
}

async function endSocket(socket: WireSocket): Promise<void> {
  const gone = deferred();
  socket.listen({
    message() {},
    control() {},
    fault() {},
    closed: () => gone.resolve(),
  });
  socket.destroy();
  await gone.promise;
}

for (const secure of ["plain", "secure"] as const) {
  Deno.test(`the credential travels in one header only, ids in the query (${secure})`, async () => {
    await using core = await TestCore.start(secure);
    const wsUrl = `${core.wsUrl}?token=CANARY-old&region=eu`;
    const outcome = await open(core, { wsUrl });
    await end(outcome);
    const [upgrade] = core.upgrades;
    assertEquals(core.upgrades.length, 1);
    assertEquals(
      upgrade?.url,
      `/api/v1/agent-daemon/ws?region=eu&device_id=${DEVICE}&version=0.12.0`,
    );
    assertEquals(upgrade?.headers.authorization, `Bearer ${TOKEN}`);
    assertEquals(upgrade?.headers["user-agent"], "agent-daemon/test");
    assertEquals(upgrade?.headers["sec-websocket-extensions"], undefined);
    assertEquals(upgrade?.headers["sec-websocket-protocol"], undefined);
    assertEquals(upgrade?.headers.origin, undefined);
    const holders = Object.entries(upgrade?.headers ?? {})
      .filter(([, value]) => String(value).includes(TOKEN));
    assertEquals(holders.map(([name]) => name), ["authorization"]);
  });

  for (
    const [status, expected] of [
      [400, "slow core 400"],
      [401, "permanent credential_rejected"],
      [403, "permanent credential_rejected"],
      [426, "permanent incompatible_version"],
      [302, "slow core 302"],
      [307, "slow core 307"],
      [200, "transient core 200"],
      [404, "transient core 404"],
      [408, "transient core 408"],
      [409, "transient core 409"],
      [429, "transient core 429"],
      [500, "transient core 500"],
      [502, "transient core 502"],
      [503, "transient core 503"],
      [504, "transient core 504"],
    ] as const
  ) {
    Deno.test(`an upgrade refused with ${status} is '${expected}' in one request (${secure})`, async () => {
      await using core = await TestCore.start(secure);
      core.onUpgrade = (_request, socket) =>
        refuseUpgrade(
          socket,
          status,
          '{"error":"internal","detail":"x"}',
          "Location: http://127.0.0.1:1/\r\nRetry-After: 9\r\n",
        );
      const outcome = await open(core);
      assertEquals(verdict(outcome), expected);
      assertEquals(core.upgrades.length, 1);
      assertEquals(core.tcpConnections, 1);
      assert(!outcome.ok);
      if (outcome.refusal.kind === "transient") {
        assertEquals(outcome.refusal.retryAfter, 9_000);
      }
      assertStringIncludes(describeRefusal(outcome.refusal), `${status}`);
      assertStringIncludes(describeRefusal(outcome.refusal), "internal");
    });
  }

  Deno.test(`a status line that reflects the credential does not reach the error (${secure})`, async () => {
    await using core = await TestCore.start(secure);
    core.onUpgrade = (request, socket) => {
      const reflected = request.headers.authorization ?? "";
      socket.end(
        `HTTP/1.1 401 ${reflected}\r\nX: ${reflected}\r\nRetry-After: ${reflected}\r\n` +
          `Content-Length: ${reflected.length}\r\n\r\n${reflected}`,
      );
      return "answered";
    };
    const outcome = await open(core);
    assertEquals(verdict(outcome), "permanent credential_rejected");
    assertEquals(JSON.stringify(outcome).includes("CANARY"), false);
  });

  Deno.test(`garbage that reflects the credential does not reach the error (${secure})`, async () => {
    await using core = await TestCore.start(secure);
    core.onUpgrade = (request, socket) => {
      socket.end(`HTTP/9 ${request.headers.authorization}\n\n\r\n\r\n`);
      return "answered";
    };
    const outcome = await open(core);
    assert(!outcome.ok);
    assertEquals(outcome.refusal.kind, "transient");
    assertEquals(JSON.stringify(outcome).includes("CANARY"), false);
  });
}

for (
  const version of ["0.7.0", "0.8.99", "0.8.", "0.12.0-dev", "0.12.0+build"]
) {
  Deno.test(`version '${version}' meets exactly one refusal, for good`, async () => {
    await using core = await TestCore.start();
    core.onUpgrade = (request, socket) =>
      new URL(request.url ?? "", "http://x").searchParams.get("version") ===
          "0.12.0"
        ? "accept"
        : refuseUpgrade(socket, 426, '{"error":"incompatible_version"}');
    const outcome = await open(core, { version });
    assertEquals(verdict(outcome), "permanent incompatible_version");
    assertEquals(core.upgrades.length, 1);
  });
}

Deno.test("a refusal whose body never ends is still classified by its status", async () => {
  await using core = await TestCore.start();
  const bodyAwaited = deferred();
  const clock = new class extends VirtualClock {
    override after(milliseconds: number, callback: () => void) {
      if (milliseconds === 1_000) bodyAwaited.resolve();
      return super.after(milliseconds, callback);
    }
  }();
  core.onUpgrade = (_request, socket) => {
    socket.write("HTTP/1.1 403 No\r\nContent-Length: 900000\r\n\r\nx");
    return "answered";
  };
  const outcome = open(core, { clock });
  await bodyAwaited.promise;
  await clock.advance(1_000);
  assertEquals(verdict(await outcome), "permanent credential_rejected");
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("an endless refusal body is read up to its bound", async () => {
  await using core = await TestCore.start();
  core.onUpgrade = (_request, socket) => {
    socket.write("HTTP/1.1 503 No\r\nContent-Length: 90000000\r\n\r\n");
    socket.write("x".repeat(100_000));
    return "answered";
  };
  assertEquals(verdict(await open(core)), "transient core 503");
});

Deno.test("a Core that accepts TCP and says nothing costs 10 s", async () => {
  await using core = await TestCore.start();
  const clock = new VirtualClock();
  const asked = deferred();
  core.onUpgrade = () => {
    asked.resolve();
    return "answered";
  };
  const outcome = open(core, { clock });
  await asked.promise;
  await clock.advance(9_999);
  assertEquals(clock.pendingTimers, 1);
  await clock.advance(1);
  assertEquals(verdict(await outcome), "transient timeout");
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("a stop ends a running dial and one that has not begun", async () => {
  await using core = await TestCore.start();
  const asked = deferred();
  core.onUpgrade = () => {
    asked.resolve();
    return "answered";
  };
  const stop = new AbortController();
  const running = open(core, { signal: stop.signal });
  await asked.promise;
  stop.abort();
  assertEquals(verdict(await running), "transient aborted");
  assertEquals(
    verdict(await open(core, { signal: stop.signal })),
    "transient aborted",
  );
  assertEquals(core.upgrades.length, 1);
});

Deno.test("reset, refused, and broken upgrades are transient", async () => {
  await using core = await TestCore.start();
  core.onUpgrade = (_request, socket) => {
    socket.destroy();
    return "answered";
  };
  assertEquals(verdict(await open(core)), "transient connection_reset");
  assertEquals(
    verdict(await open(core, { wsUrl: "ws://127.0.0.1:1/ws" })),
    "transient connection_refused",
  );
  core.onUpgrade = (_request, socket) => {
    socket.end(
      "HTTP/1.1 101 Ok\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
        "Sec-WebSocket-Accept: wrong\r\n\r\n",
    );
    return "answered";
  };
  const outcome = await open(core);
  assert(!outcome.ok);
  assertEquals(outcome.refusal.kind, "transient");
});

Deno.test("an untrusted certificate is named and no upgrade gets through", async () => {
  await using core = await TestCore.start("secure");
  const network = createNetwork({ proxy: {} });
  assertEquals(
    verdict(await open(core, { network })),
    "transient tls_certificate",
  );
  assertEquals(core.upgrades.length, 0);
});

Deno.test("authorities may come as one file of several certificates", async () => {
  await using core = await TestCore.start("secure");
  const bundle = `${rootCertificates[0]}\n${TEST_CERTIFICATE}`;
  const network = createNetwork({
    proxy: {},
    certificateAuthorities: [bundle],
  });
  await end(await open(core, { network }));
});

Deno.test("a dial without address, device, credential or version makes no request", async () => {
  await using core = await TestCore.start();
  for (const name of ["wsUrl", "deviceId", "credential", "version"] as const) {
    assertThrows(() => open(core, { [name]: "" }), TypeError, name);
  }
  assertEquals(core.tcpConnections, 0);
});

Deno.test("the socket goes through a CONNECT proxy, and a 407 names the proxy without credentials", async () => {
  await using core = await TestCore.start("secure");
  const authorization = `Basic ${btoa("user:CANARY-proxy")}`;
  await using proxy = await new ConnectProxy(core.port, { authorization })
    .start();
  const through = (credentials: string) =>
    open(core, {
      wsUrl: "wss://core.test/ws",
      network: createNetwork({
        proxy: { proxy: `http://${credentials}127.0.0.1:${proxy.port}` },
        certificateAuthorities: [TEST_CERTIFICATE],
      }),
    });
  await end(await through("user:CANARY-proxy@"));
  for (const credentials of ["", "user:CANARY-wrong@"]) {
    const refused = await through(credentials);
    assert(!refused.ok);
    assertEquals(verdict(refused), "transient proxy 407");
    const sentence = describeRefusal(refused.refusal);
    assertStringIncludes(sentence, `127.0.0.1:${proxy.port}`);
    assertStringIncludes(sentence, "407");
    assertEquals(JSON.stringify(refused).includes("CANARY"), false);
  }
  assertEquals(core.upgrades.length, 1);
  assertEquals(proxy.requests.join("").includes(TOKEN), false);
});

Deno.test("a proxy's 401, 403 or 426 never counts as Core's", async () => {
  await using core = await TestCore.start("secure");
  for (const status of [401, 403, 426, 502]) {
    await using proxy = await new ConnectProxy(core.port, { status }).start();
    const outcome = await open(core, {
      wsUrl: "wss://core.test/ws",
      network: createNetwork({
        proxy: { proxy: `http://127.0.0.1:${proxy.port}` },
      }),
    });
    assertEquals(verdict(outcome), `transient proxy ${status}`);
  }
});

Deno.test("a Core behind the proxy keeps its own verdict", async () => {
  await using core = await TestCore.start("secure");
  core.onUpgrade = (_request, socket) => refuseUpgrade(socket, 401);
  await using proxy = await new ConnectProxy(core.port).start();
  const outcome = await open(core, {
    wsUrl: "wss://core.test/ws",
    network: createNetwork({
      proxy: { proxy: `http://127.0.0.1:${proxy.port}` },
      certificateAuthorities: [TEST_CERTIFICATE],
    }),
  });
  assertEquals(verdict(outcome), "permanent credential_rejected");
});

Deno.test("a proxy that is down is named", async () => {
  await using core = await TestCore.start("secure");
  const outcome = await open(core, {
    wsUrl: "wss://core.test/ws",
    network: createNetwork({ proxy: { proxy: "http://127.0.0.1:1" } }),
  });
  assert(!outcome.ok);
  assertEquals(
    describeRefusal(outcome.refusal),
    "socket failed: connection_refused (through proxy 127.0.0.1:1)",
  );
});

Deno.test("an excluded host is dialled directly", async () => {
  await using core = await TestCore.start("secure");
  await using proxy = await new ConnectProxy(core.port).start();
  await open(core, {
    wsUrl: `wss://core.test:${core.port}/ws`,
    network: createNetwork({
      proxy: {
        proxy: `http://127.0.0.1:${proxy.port}`,
        noProxy: "localhost,.test",
      },
      certificateAuthorities: [TEST_CERTIFICATE],
    }),
  });
  assertEquals(proxy.requests.length, 0);
});

Deno.test("messages sent right after the upgrade wait for the owner", async () => {
  await using core = await TestCore.start();
  core.onSocket = (socket) => {
    for (let n = 0; n < 10; n++) socket.send(`{"type":"n${n}"}`);
  };
  const outcome = await open(core);
  assert(outcome.ok);
  await settleEvents();
  const received: (string | undefined)[] = [];
  const all = deferred();
  const gone = deferred();
  outcome.socket.listen({
    message(text) {
      if (received.push(text) === 10) all.resolve();
    },
    control() {},
    fault() {},
    closed: () => gone.resolve(),
  });
  await all.promise;
  assertEquals(received[0], '{"type":"n0"}');
  assertEquals(received[9], '{"type":"n9"}');
  outcome.socket.destroy();
  await gone.promise;
});
