// The provider table: protocol, endpoint, key and limits.
import { assertEquals } from "@std/assert";
import { readAgentOptions } from "../../src/protocol/agent_options.ts";
import { checkModelProvider } from "../../src/protocol/model_provider.ts";
import { acceptEach, refuseEach, valueOf } from "./wire_rows.ts";

const VALID = {
  protocol: "responses",
  base_url: "https://model.example/v1",
  api_key: "k",
};
const at = (base_url: string) => ({ ...VALID, base_url });

Deno.test("model providers", async (t) => {
  await acceptEach(t, {
    "https": VALID,
    "anthropic": { ...VALID, protocol: "anthropic" },
    "chat completions": { ...VALID, protocol: "chat_completions" },
    "loopback IPv4": at("http://127.0.0.1:8080/v1"),
    "loopback range": at("http://127.255.0.9"),
    "loopback IPv6": at("http://[::1]/"),
    "scheme in capitals": at("HTTPS://model.example"),
    "both limits absent": VALID,
    "window and output": {
      ...VALID,
      context_window: 1000,
      max_output_tokens: 1000,
    },
    "window alone": { ...VALID, context_window: 1 },
    "zero limits": { ...VALID, context_window: 0, max_output_tokens: 0 },
    "longest key": { ...VALID, api_key: "k".repeat(16_384) },
  }, checkModelProvider);
  await refuseEach(t, {
    "unknown protocol": { ...VALID, protocol: "openai" },
    "no protocol": { ...VALID, protocol: undefined },
    "missing base_url": { ...VALID, base_url: undefined },
    "empty base_url": at(""),
    "http to a name": at("http://model.example"),
    "http to localhost": at("http://localhost:1"),
    "http to a short loopback": at("http://127.1/"),
    "http to a hexadecimal loopback": at("http://0x7f000001/"),
    "http to another address": at("http://128.0.0.1/"),
    "http to a longer name": at("http://127.0.0.1.example/"),
    "userinfo": at("https://u:p@h/"),
    "empty userinfo": at("https://@h/"),
    "query": at("https://h/?q=1"),
    "empty query": at("https://h/?"),
    "fragment": at("https://h/#f"),
    "empty fragment": at("https://h/#"),
    "relative": at("/v1"),
    "other scheme": at("ftp://h/"),
    "no host": at("https:///v1"),
    "line break": at("https://h/\nv1"),
    "NUL": at("https://h/\0"),
    "backslash": at("https://h\\@evil/"),
    "output over window": { ...VALID, max_output_tokens: 10 },
    "negative window": { ...VALID, context_window: -1 },
    "negative output": { ...VALID, context_window: 5, max_output_tokens: -1 },
    "fractional window": { ...VALID, context_window: 1.5 },
    "window over 32 bits": { ...VALID, context_window: 2 ** 31 },
    "blank key": { ...VALID, api_key: " " },
    "empty key": { ...VALID, api_key: "" },
    "key with LF": { ...VALID, api_key: "k\n" },
    "key with CR": { ...VALID, api_key: "k\rx" },
    "key with NUL": { ...VALID, api_key: "k\0" },
    "long key": { ...VALID, api_key: "k".repeat(16_385) },
    "extra member": { ...VALID, organisation: "o" },
    "null": null,
    "array": [VALID],
  }, checkModelProvider);
});

Deno.test("agent options are read into what they say", () => {
  assertEquals(valueOf(readAgentOptions()), {});
  const options = {
    model: "m",
    system_prompt: "",
    model_provider: VALID,
    harness_config: { a: 1 },
  };
  assertEquals<unknown>(valueOf(readAgentOptions(options)), options);
});
