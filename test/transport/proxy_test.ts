// The choice of a proxy.
import { assertEquals, assertThrows } from "@std/assert";
import {
  InvalidProxy,
  parseProxy,
  proxyFor,
  proxyFromEnvironment,
} from "../../src/transport/proxy.ts";

for (
  const [environment, proxy] of [
    [{}, undefined],
    [{ HTTPS_PROXY: "http://a:1" }, "http://a:1"],
    [{ https_proxy: "http://b:1", HTTPS_PROXY: "http://a:1" }, "http://b:1"],
    [{ HTTPS_PROXY: "" }, undefined],
    [{ https_proxy: "", HTTPS_PROXY: "http://a:1" }, "http://a:1"],
    [{ ALL_PROXY: "http://c:1", all_proxy: "http://c:1" }, undefined],
    [{ HTTP_PROXY: "http://d:1" }, undefined],
  ] as const
) {
  Deno.test(`the environment names the proxy: ${JSON.stringify(environment)}`, () => {
    assertEquals(proxyFromEnvironment(environment).proxy, proxy);
  });
}

for (
  const [target, noProxy, proxied] of [
    ["wss://core.example/ws", "", true],
    ["wss://core.example/ws", "*", false],
    ["wss://core.example/ws", "core.example", false],
    ["wss://core.example/ws", "CORE.EXAMPLE", false],
    ["wss://core.example/ws", "example", false],
    ["wss://core.example/ws", ".example", false],
    ["wss://core.example/ws", "*.example", false],
    ["wss://core.example/ws", "ore.example", true],
    ["wss://core.example/ws", "other.example, core.example", false],
    ["wss://core.example/ws", "core.example:443", false],
    ["wss://core.example/ws", "core.example:8443", true],
    ["wss://core.example:8443/ws", "core.example:8443", false],
    ["wss://10.1.2.3/ws", "10.0.0.0/8", false],
    ["wss://11.1.2.3/ws", "10.0.0.0/8", true],
    ["wss://10.1.2.3/ws", "10.1.2.3", false],
    ["wss://10.1.2.3/ws", "10.0.0.0/99", true],
    ["wss://127.0.0.1/ws", "", false],
    ["wss://localhost/ws", "", false],
    ["wss://[::1]/ws", "", false],
    ["wss://[fd00::1]/ws", "[fd00::1]", false],
  ] as const
) {
  Deno.test(`${target} with NO_PROXY '${noProxy}' is ${proxied ? "proxied" : "direct"}`, () => {
    const proxy = proxyFor(new URL(target), {
      proxy: "http://proxy.example:3128",
      noProxy,
    });
    assertEquals(proxy !== undefined, proxied);
  });
}

Deno.test("a proxy's credentials are in the header and nowhere else", () => {
  const proxy = parseProxy("http://user:p%40ss@proxy.example:3128");
  assertEquals(proxy, {
    url: "http://proxy.example:3128",
    name: "proxy.example:3128",
    authorization: `Basic ${btoa("user:p@ss")}`,
  });
});

Deno.test("a bare host and port is an http proxy, and default ports are named", () => {
  assertEquals(
    parseProxy("proxy.example:3128").url,
    "http://proxy.example:3128",
  );
  assertEquals(parseProxy("https://proxy.example").name, "proxy.example:443");
  assertEquals(parseProxy("http://proxy.example").name, "proxy.example:80");
});

for (
  const text of [
    "socks5://CANARY:1",
    "http://%%CANARY",
    "ftp://CANARY",
    "http://%zz:CANARY@h:1",
  ]
) {
  Deno.test(`a proxy setting is refused without repeating it: ${text}`, () => {
    const error = assertThrows(() => parseProxy(text), InvalidProxy);
    assertEquals(error.message.includes("CANARY"), false);
  });
}
