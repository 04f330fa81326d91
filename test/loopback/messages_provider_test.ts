import { assert, assertEquals, assertRejects } from "@std/assert";
import { deferred } from "../../src/platform/deferred.ts";
import {
  MessagesProvider,
  type MessagesScript,
  replies,
  textReply,
  toolReply,
} from "../../src/loopback/messages_provider.ts";

const BODY = {
  model: "m",
  stream: true,
  messages: [{ role: "user", content: "hello" }],
};

function ask(
  provider: MessagesProvider,
  body: unknown = BODY,
  path = "/v1/messages?beta=true",
): Promise<Response> {
  return fetch(`${provider.baseUrl}${path}`, {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
    headers: { authorization: "Bearer key" },
  });
}

function types(stream: string): string[] {
  return [...stream.matchAll(/^event: (\w+)$/gm)].map(([, type]) => type ?? "");
}

Deno.test("a scripted text is streamed event by event, in order", async () => {
  await using provider = MessagesProvider.start(
    replies(textReply("msg_1", "a", "b")),
  );
  const response = await ask(provider);
  assertEquals(response.headers.get("content-type"), "text/event-stream");
  const text = await response.text();
  assertEquals(types(text), [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
  ]);
  assert(text.includes('"stop_reason":"end_turn"'));
});

Deno.test("a fragment that is a promise holds the stream open", async () => {
  const gate = deferred();
  await using provider = MessagesProvider.start(
    replies(textReply("msg_1", "first", gate.promise, "second")),
  );
  const response = await ask(provider);
  const reader = response.body?.pipeThrough(new TextDecoderStream())
    .getReader();
  assert(reader);
  let text = "";
  while (!text.includes("first")) text += (await reader.read()).value ?? "";
  assert(!text.includes("second"));
  gate.resolve();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    text += value;
  }
  assert(text.includes("second") && text.includes("message_stop"));
});

Deno.test("a tool call carries the raw bytes of its input", async () => {
  await using provider = MessagesProvider.start(
    replies(toolReply("msg_1", { id: "t", name: "Bash", input: { a: 1 } })),
  );
  const text = await (await ask(provider)).text();
  assert(text.includes('"partial_json":"{\\"a\\":1}"'));
  assert(text.includes('"stop_reason":"tool_use"'));
});

Deno.test("requests are recorded whole and can be awaited", async () => {
  await using provider = MessagesProvider.start(
    replies(textReply("msg_1", "x")),
  );
  const waiting = provider.request(0);
  await (await ask(provider)).text();
  const request = await waiting;
  assertEquals(request.body, BODY);
  assertEquals(request.headers["authorization"], "Bearer key");
  assertEquals(request.path, "/v1/messages?beta=true");
  assertEquals((await provider.request(0)).text, JSON.stringify(BODY));
});

Deno.test("what no script expects is an error and stays visible", async () => {
  await using provider = MessagesProvider.start(replies());
  assertEquals((await discard(ask(provider))).status, 500);
  assertEquals(provider.requests.length, 1);
  for (
    const [body, path] of [
      [BODY, "/v1/messages/count_tokens"],
      ["no JSON", "/v1/messages"],
    ] as const
  ) {
    assertEquals((await discard(ask(provider, body, path))).status, 404);
  }
  assertEquals(provider.strays.length, 2);
});

Deno.test("errors have the provider's shape, in the head and in the stream", async () => {
  const script: MessagesScript = (_request, index) =>
    index === 0
      ? { type: "error", status: 529, error: "overloaded_error" }
      : { type: "stream_error", error: "overloaded_error" };
  await using provider = MessagesProvider.start(script);
  const head = await ask(provider);
  assertEquals(head.status, 529);
  assertEquals((await head.json()).error.type, "overloaded_error");
  assertEquals(types(await (await ask(provider)).text()), ["error"]);
});

Deno.test("a broken stream ends without its end", async () => {
  const cut = deferred();
  await using provider = MessagesProvider.start(replies({
    type: "broken",
    message: {
      id: "msg_1",
      blocks: [{ type: "text", fragments: ["half", cut.promise] }],
    },
  }));
  const response = await ask(provider);
  cut.reject(new Error("cut"));
  await assertRejects(() => response.text());
});

Deno.test("an answer without streaming is one body", async () => {
  await using provider = MessagesProvider.start(
    replies(textReply("msg_1", "a", "b")),
  );
  const body = await (await ask(provider, { ...BODY, stream: false })).json();
  assertEquals(body.content, [{ type: "text", text: "ab" }]);
});

Deno.test("stopping ends held and hanging answers and rejects waiters", async () => {
  const provider = MessagesProvider.start((_request, index) =>
    index === 0
      ? textReply("msg_1", "first", new Promise(() => {}))
      : { type: "hang" }
  );
  const held = await ask(provider);
  const hanging = ask(provider);
  await provider.request(1);
  const never = assertRejects(() => provider.request(2));
  const [, , heldText] = await Promise.all([
    provider[Symbol.asyncDispose](),
    never,
    held.text(),
    discard(hanging),
  ]);
  assert(heldText.includes("first"));
});

async function discard(response: Promise<Response>): Promise<Response> {
  const settled = await response;
  await settled.body?.cancel();
  return settled;
}
