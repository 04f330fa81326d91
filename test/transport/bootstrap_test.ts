// Bootstrap against a real Core: what is asked, what is accepted, and what never leaks.
import { assertEquals, assertRejects } from "@std/assert";
import { VirtualClock } from "../support/virtual_clock.ts";
import {
  bootstrap,
  type BootstrapOutcome,
} from "../../src/transport/bootstrap.ts";
import { parseCoreUrl } from "../../src/transport/core_url.ts";
import { createNetwork } from "../../src/transport/network.ts";
import { bootstrapBody, TEST_CERTIFICATE, TestCore } from "./test_core.ts";
import { ConnectProxy } from "./test_proxy.ts";

const DEVICE = "6f0c2d1e-0f54-4b7e-9b36-2b8f1f9d7a10";
const TOKEN = "CANARY-bootstrap-token";

function ask(
  core: TestCore,
  changes: Partial<Parameters<typeof bootstrap>[0]> = {},
): Promise<BootstrapOutcome> {
  return bootstrap({
    core: parseCoreUrl(core.origin),
    deviceId: DEVICE,
    credential: TOKEN,
    userAgent: "agent-daemon/test",
    network: createNetwork({
      proxy: {},
      certificateAuthorities: [TEST_CERTIFICATE],
    }),
    clock: new VirtualClock(),
    ...changes,
  });
}

/** The one word that says how an outcome was classified. */
function verdict(outcome: BootstrapOutcome): string {
  if (outcome.ok) return "ok";
  const { refusal } = outcome;
  const { source } = refusal;
  const detail = refusal.kind === "permanent"
    ? refusal.reason
    : "fault" in source
    ? source.fault
    : "status" in source
    ? `${source.status}`
    : "";
  return `${refusal.kind} ${detail}`;
}

Deno.test("bootstrap posts the device id as JSON with the bearer and parses the answer", async () => {
  for (const secure of ["plain", "secure"] as const) {
    await using core = await TestCore.start(secure);
    core.onRequest = (_request, response) =>
      response.end(bootstrapBody(core, DEVICE, { heartbeat_seconds: 7 }));
    assertEquals(await ask(core), {
      ok: true,
      answer: {
        wsUrl: core.wsUrl,
        heartbeatInterval: 7_000,
        workspaceId: "a1b2c3d4-0000-4000-8000-000000000001",
      },
    });
    const [request] = core.requests;
    assertEquals(request?.method, "POST");
    assertEquals(request?.url, "/api/v1/agent-daemon/bootstrap");
    assertEquals(request?.headers.authorization, `Bearer ${TOKEN}`);
    assertEquals(request?.headers["content-type"], "application/json");
    assertEquals(request?.headers["user-agent"], "agent-daemon/test");
    assertEquals(request?.body, JSON.stringify({ device_id: DEVICE }));
    assertEquals(core.requests.length, 1);
  }
});

for (
  const [seconds, expected] of [
    [0, 15_000],
    [-3, 15_000],
    [undefined, 15_000],
    [null, 15_000],
    [1, 1_000],
    [3600, 3_600_000],
    [1e9, 86_400_000],
  ] as const
) {
  Deno.test(`heartbeat_seconds ${seconds} gives ${expected} ms`, async () => {
    await using core = await TestCore.start();
    core.onRequest = (_request, response) =>
      response.end(bootstrapBody(core, DEVICE, { heartbeat_seconds: seconds }));
    const outcome = await ask(core);
    assertEquals(outcome.ok && outcome.answer.heartbeatInterval, expected);
  });
}

for (
  const [members, expected] of [
    [{ ws_url: "" }, "ok"],
    [{ ws_url: undefined }, "ok"],
    [{ ws_url: "wss://elsewhere.example/ws" }, "slow ws_url_other_host"],
    [{ ws_url: "ws://127.0.0.1:1/ws" }, "slow ws_url_other_host"],
    [{ ws_url: "http://127.0.0.1/ws" }, "slow ws_url_scheme"],
    [{ ws_url: "nonsense" }, "slow ws_url_malformed"],
    [{ device_id: "" }, "transient malformed_answer"],
    [{ device_id: undefined }, "transient malformed_answer"],
    [{ device_id: DEVICE.toUpperCase() }, "slow device_id_mismatch"],
    [
      { device_id: "00000000-0000-4000-8000-000000000000" },
      "slow device_id_mismatch",
    ],
    [{ protocol_version: "0.12.1" }, "permanent incompatible_version"],
    [{ protocol_version: "0.12" }, "permanent incompatible_version"],
    [{ protocol_version: " 0.12.0" }, "permanent incompatible_version"],
    [{ protocol_version: "0.12.0-dev" }, "permanent incompatible_version"],
    [{ protocol_version: "" }, "ok"],
    [{ protocol_version: undefined }, "ok"],
    [{ protocol_version: 12 }, "transient malformed_answer"],
    [{ heartbeat_seconds: "15" }, "transient malformed_answer"],
    [{ heartbeat_seconds: 1.5 }, "transient malformed_answer"],
    [{ workspace_id: 5 }, "transient malformed_answer"],
    [{ future_member: { a: 1 } }, "ok"],
  ] as const
) {
  Deno.test(`a bootstrap answer with ${JSON.stringify(members)} is '${expected}'`, async () => {
    await using core = await TestCore.start();
    core.onRequest = (_request, response) =>
      response.end(bootstrapBody(core, DEVICE, members));
    assertEquals(verdict(await ask(core)), expected);
  });
}

Deno.test("a secure Core may not send the credential to a plain socket", async () => {
  await using core = await TestCore.start("secure");
  core.onRequest = (_request, response) =>
    response.end(
      bootstrapBody(core, DEVICE, {
        ws_url: core.wsUrl.replace("wss:", "ws:"),
      }),
    );
  assertEquals(verdict(await ask(core)), "slow ws_url_downgrade");
});

for (
  const [status, body, expected] of [
    [401, '{"error":"bad_credential"}', "permanent credential_rejected"],
    [403, '{"error":"wrong_runtime_type"}', "permanent credential_rejected"],
    [400, '{"error":"missing_device_id"}', "permanent configuration"],
    [405, '{"error":"method_not_allowed"}', "slow 405"],
    [426, '{"error":"incompatible_version"}', "permanent incompatible_version"],
    [500, '{"error":"internal"}', "transient 500"],
    [503, '{"error":"bootstrap_unavailable"}', "transient 503"],
    [404, "<html>", "transient 404"],
    [429, "", "transient 429"],
    [502, "", "transient 502"],
  ] as const
) {
  Deno.test(`bootstrap status ${status} is '${expected}' over http and https`, async () => {
    for (const secure of ["plain", "secure"] as const) {
      await using core = await TestCore.start(secure);
      core.onRequest = (_request, response) => {
        response.writeHead(status, { "Retry-After": "12" });
        response.end(body);
      };
      const outcome = await ask(core);
      assertEquals(verdict(outcome), expected);
      if (!outcome.ok && outcome.refusal.kind === "transient") {
        assertEquals(outcome.refusal.retryAfter, 12_000);
      }
    }
  });
}

for (const status of [301, 302, 303, 307, 308]) {
  Deno.test(`a ${status} redirect is not followed with the credential`, async () => {
    await using core = await TestCore.start();
    await using other = await TestCore.start();
    core.onRequest = (_request, response) => {
      response.writeHead(status, { Location: `${other.origin}/elsewhere` });
      response.end();
    };
    assertEquals(verdict(await ask(core)), `slow ${status}`);
    assertEquals(other.tcpConnections, 0);
  });
}

Deno.test("an answer of 64 KiB is read, one byte more is refused", async () => {
  await using core = await TestCore.start();
  let padding = 0;
  core.onRequest = (_request, response) => {
    const body = bootstrapBody(core, DEVICE);
    response.end(body + " ".repeat(65_536 - body.length + padding));
  };
  assertEquals(verdict(await ask(core)), "ok");
  padding = 1;
  assertEquals(verdict(await ask(core)), "transient answer_too_large");
});

for (
  const [name, body] of [
    ["HTML of a captive portal", "<html>sign in</html>"],
    ["an array", "[]"],
    ["null", "null"],
    ["nothing", ""],
    ["cut JSON", '{"device_id":'],
  ] as const
) {
  Deno.test(`a 200 with ${name} is malformed and tried again`, async () => {
    await using core = await TestCore.start();
    core.onRequest = (_request, response) => response.end(body);
    assertEquals(verdict(await ask(core)), "transient malformed_answer");
  });
}

Deno.test("a Core that never answers, or never ends its body, costs 10 s", async () => {
  for (const begin of [false, true]) {
    await using core = await TestCore.start();
    const clock = new VirtualClock();
    const { promise: arrived, resolve } = Promise.withResolvers<void>();
    core.onRequest = (_request, response) => {
      if (begin) response.write("{");
      resolve();
    };
    const outcome = ask(core, { clock });
    await arrived;
    await clock.advance(9_999);
    assertEquals(clock.pendingTimers, 1);
    await clock.advance(1);
    assertEquals(verdict(await outcome), "transient timeout");
    assertEquals(clock.pendingTimers, 0);
  }
});

Deno.test("a stop ends a running bootstrap and one that has not begun", async () => {
  await using core = await TestCore.start();
  const { promise: arrived, resolve } = Promise.withResolvers<void>();
  core.onRequest = () => resolve();
  const stop = new AbortController();
  const running = ask(core, { signal: stop.signal });
  await arrived;
  stop.abort();
  assertEquals(verdict(await running), "transient aborted");
  assertEquals(
    verdict(await ask(core, { signal: stop.signal })),
    "transient aborted",
  );
  assertEquals(core.requests.length, 1);
});

Deno.test("a Core that resets, is down, or is unknown is a transient fault", async () => {
  await using core = await TestCore.start();
  core.onRequest = (_request, response) => response.socket?.destroy();
  assertEquals(verdict(await ask(core)), "transient connection_reset");
  const down = { core: parseCoreUrl("http://127.0.0.1:1") };
  assertEquals(verdict(await ask(core, down)), "transient connection_refused");
});

Deno.test("an untrusted certificate is named as such and no request gets through", async () => {
  await using core = await TestCore.start("secure");
  const network = createNetwork({ proxy: {} });
  assertEquals(
    verdict(await ask(core, { network })),
    "transient tls_certificate",
  );
  assertEquals(core.requests.length, 0);
});

Deno.test("a certificate for another name is refused although its authority is trusted", async () => {
  await using core = await TestCore.start("secure");
  const other = parseCoreUrl(`https://[::1]:${core.port}`);
  const elsewhere = parseCoreUrl(`https://127.0.0.2:${core.port}`);
  const verdicts = [
    verdict(await ask(core, { core: elsewhere })),
    verdict(await ask(core, { core: other })),
  ];
  assertEquals(verdicts.includes("ok"), false);
  assertEquals(core.requests.length, 0);
});

Deno.test("empty device id or credential is refused before any request", async () => {
  await using core = await TestCore.start();
  await assertRejects(() => ask(core, { deviceId: "" }), TypeError);
  await assertRejects(() => ask(core, { credential: "" }), TypeError);
  assertEquals(core.tcpConnections, 0);
});

Deno.test("a Core that reflects the credential everywhere gets nothing of it into the outcome", async () => {
  for (const status of [200, 302, 401, 500]) {
    await using core = await TestCore.start();
    core.onRequest = (request, response) => {
      response.statusMessage = `${request.headers.authorization}`;
      response.writeHead(status, {
        Location: `http://x/${TOKEN}`,
        "Retry-After": TOKEN,
      });
      response.end(JSON.stringify({
        error: request.headers.authorization,
        device_id: DEVICE,
        ws_url: `ws://${TOKEN}@127.0.0.1/`,
        protocol_version: TOKEN,
      }));
    };
    const outcome = await ask(core);
    assertEquals(outcome.ok, false);
    assertEquals(JSON.stringify(outcome).includes("CANARY"), false);
  }
});

Deno.test("a loopback Core is reached directly although a proxy is set", async () => {
  await using core = await TestCore.start("secure");
  await using proxy = await new ConnectProxy(core.port).start();
  core.onRequest = (_request, response) =>
    response.end(bootstrapBody(core, DEVICE));
  const network = createNetwork({
    proxy: { proxy: `http://127.0.0.1:${proxy.port}` },
    certificateAuthorities: [TEST_CERTIFICATE],
  });
  assertEquals(verdict(await ask(core, { network })), "ok");
  assertEquals(proxy.requests.length, 0);
});

Deno.test("bootstrap goes through a CONNECT proxy, with credentials when it wants them", async () => {
  await using core = await TestCore.start("secure");
  core.onRequest = (_request, response) =>
    response.end(bootstrapBody(core, DEVICE, { ws_url: "" }));
  const authorization = `Basic ${btoa("user:CANARY-proxy")}`;
  await using proxy = await new ConnectProxy(core.port, { authorization })
    .start();
  const through = (credentials: string) =>
    ask(core, {
      core: parseCoreUrl("https://core.test"),
      network: createNetwork({
        proxy: { proxy: `http://${credentials}127.0.0.1:${proxy.port}` },
        certificateAuthorities: [TEST_CERTIFICATE],
      }),
    });
  assertEquals(verdict(await through("user:CANARY-proxy@")), "ok");
  const refused = await through("user:CANARY-wrong@");
  assertEquals(refused, {
    ok: false,
    refusal: {
      kind: "transient",
      source: {
        from: "proxy",
        proxy: `127.0.0.1:${proxy.port}`,
        status: 407,
      },
    },
  });
  assertEquals(
    proxy.requests[0]?.split("\r\n")[0],
    "CONNECT core.test:443 HTTP/1.1",
  );
  assertEquals(proxy.requests.join("").includes(TOKEN), false);
  assertEquals(core.requests.length, 1);
});

Deno.test("a proxy's 401 or 403 is the proxy's and never ends the daemon", async () => {
  for (const status of [401, 403, 426, 502]) {
    await using proxy = await new ConnectProxy(1, { status }).start();
    const outcome = await bootstrap({
      core: parseCoreUrl("https://core.test"),
      deviceId: DEVICE,
      credential: TOKEN,
      userAgent: "x",
      network: createNetwork({
        proxy: { proxy: `127.0.0.1:${proxy.port}` },
      }),
      clock: new VirtualClock(),
    });
    assertEquals(verdict(outcome), `transient ${status}`);
    assertEquals(!outcome.ok && outcome.refusal.source.from, "proxy");
  }
});
