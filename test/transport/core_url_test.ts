// Which addresses are accepted, and which one may get the credential.
import { assertEquals, assertThrows } from "@std/assert";
import {
  dialUrl,
  InvalidCoreUrl,
  isLoopback,
  parseCoreUrl,
  socketUrl,
} from "../../src/transport/core_url.ts";

for (
  const [text, base] of [
    ["https://core.example", "https://core.example/api/v1"],
    ["https://core.example/", "https://core.example/api/v1"],
    ["https://core.example:8443", "https://core.example:8443/api/v1"],
    ["https://core.example/api/v1", "https://core.example/api/v1"],
    ["https://core.example/api/v1/", "https://core.example/api/v1"],
    [
      "wss://core.example/api/v1/agent-daemon/ws",
      "https://core.example/api/v1",
    ],
    [
      "ws://127.0.0.1:9/api/v1/agent-daemon/ws",
      "http://127.0.0.1:9/api/v1",
    ],
    ["http://localhost:8080", "http://localhost:8080/api/v1"],
    ["http://[::1]:8080", "http://[::1]:8080/api/v1"],
    ["http://127.9.9.9", "http://127.9.9.9/api/v1"],
    ["HTTPS://Core.Example", "https://core.example/api/v1"],
  ] as const
) {
  Deno.test(`a Core address is normalised: ${text}`, () => {
    assertEquals(parseCoreUrl(text).base, base);
  });
}

for (
  const text of [
    "",
    "core.example",
    "ftp://core.example",
    "http://core.example",
    "http://127.0.0.1.evil.example",
    "http://localhost.evil.example",
    "ws://core.example/api/v1/agent-daemon/ws",
    "https://user@core.example",
    "https://user:CANARY@core.example",
    "https://core.example?x=CANARY",
    "https://core.example#x",
    "https://core.example/api/v2",
    "https://core.example/api/v1/agent-daemon/ws",
    "wss://core.example",
    "wss://core.example/api/v1/agent-daemon/ws/",
    "wss://core.example/api/v1%2Fagent-daemon/ws",
    "https://core.example/api/v1 ",
    "https:\\\\core.example",
  ]
) {
  Deno.test(`a Core address is refused without repeating it: '${text}'`, () => {
    const error = assertThrows(() => parseCoreUrl(text), InvalidCoreUrl);
    assertEquals(error.message.includes("CANARY"), false);
  });
}

const core = parseCoreUrl("https://core.example");

for (
  const [wsUrl, expected] of [
    ["", "wss://core.example/api/v1/agent-daemon/ws"],
    [
      "wss://core.example/api/v1/agent-daemon/ws",
      "wss://core.example/api/v1/agent-daemon/ws",
    ],
    ["wss://core.example:443/ws", "wss://core.example/ws"],
    ["wss://core.example/ws?tenant=1", "wss://core.example/ws?tenant=1"],
    ["wss://core.example:8443/ws", "ws_url_other_host"],
    ["wss://other.example/ws", "ws_url_other_host"],
    ["wss://core.example.evil/ws", "ws_url_other_host"],
    ["wss://core.example@evil.example/ws", "ws_url_malformed"],
    ["ws://core.example/ws", "ws_url_downgrade"],
    ["ws://core.example:443/ws", "ws_url_downgrade"],
    ["https://core.example/ws", "ws_url_scheme"],
    ["http://core.example/ws", "ws_url_scheme"],
    ["/api/v1/agent-daemon/ws", "ws_url_malformed"],
    ["wss://core.example/ws#x", "ws_url_malformed"],
    ["not a url", "ws_url_malformed"],
  ] as const
) {
  Deno.test(`a socket address of bootstrap is judged: '${wsUrl}'`, () => {
    const result = socketUrl(core, wsUrl);
    assertEquals(result.ok ? result.url : result.reason, expected);
  });
}

Deno.test("a plain loopback Core derives ws and may be given wss on the same port", () => {
  const local = parseCoreUrl("http://127.0.0.1:8080");
  assertEquals(socketUrl(local, ""), {
    ok: true,
    url: "ws://127.0.0.1:8080/api/v1/agent-daemon/ws",
  });
  assertEquals(socketUrl(local, "wss://127.0.0.1:8080/ws").ok, true);
});

Deno.test("a dial carries device id and version, drops an old token and keeps the rest", () => {
  assertEquals(
    dialUrl(
      "wss://c/ws?token=SECRET&region=eu&version=9&device_id=x",
      "d-1",
      "0.12.0",
    ),
    "wss://c/ws?region=eu&version=0.12.0&device_id=d-1",
  );
});

for (
  const [host, expected] of [
    ["127.0.0.1", true],
    ["127.255.0.3", true],
    ["localhost", true],
    ["LOCALHOST", true],
    ["[::1]", true],
    ["128.0.0.1", false],
    ["localhost.", false],
    ["127.0.0.1.nip.io", false],
    ["[::2]", false],
    ["10.0.0.1", false],
  ] as const
) {
  Deno.test(`loopback is literal: ${host}`, () => {
    assertEquals(isLoopback(host), expected);
  });
}
