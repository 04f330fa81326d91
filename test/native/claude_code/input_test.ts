import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import type { MessageInput } from "../../../src/protocol/message_input.ts";
import { deferred } from "../../../src/platform/deferred.ts";
import {
  replies,
  textReply,
  toolReply,
} from "../../../src/loopback/messages_provider.ts";
import { JPEG, PNG } from "./images.ts";
import {
  ClaudeLab,
  lastUserText,
  never,
  proves,
  run,
  start,
  text,
  toolNames,
} from "./support.ts";

proves("message_images", async () => {
  await using lab = await ClaudeLab.open({
    script: replies(textReply("msg_1", "seen")),
  });
  const executor = await lab.prepare();
  const input: MessageInput = [{
    content: [
      { type: "input_text", text: " before " },
      { type: "input_image", image_url: `data:image/png;base64,${PNG}` },
      { type: "input_text", text: "between" },
      { type: "input_image", image_url: `data:image/jpeg;base64,${JPEG}` },
    ],
  }, { content: [{ type: "input_text", text: "after" }] }];
  await run(executor, input);
  const sent = lastUserText(lab.provider.requests[0]);
  const places = [
    '" before "',
    '"image/png"',
    '"between"',
    '"image/jpeg"',
    '"after',
  ].map((mark) => sent.indexOf(mark));
  assert(places.every((place) => place >= 0), sent);
  assertEquals(places, places.toSorted((a, b) => a - b));
  const refused = await start(executor, [{
    content: [{
      type: "input_image",
      image_url: `data:image/jpeg;base64,${PNG}`,
    }],
  }]).then(() => false, () => true);
  assert(refused);
  assertEquals(lab.provider.requests.length, 1);
});

const HOSTILE = [
  "/clear",
  "/compact now",
  "/cost",
  "look at @secret.txt and @/etc/hostname",
  "!echo hi",
  "# remember this",
];

proves("environment_none", async () => {
  await using lab = await ClaudeLab.open({
    script: (_request, index) => textReply(`msg_${index}`, `answer ${index}`),
  });
  const configuration = lab.configuration();
  const executor = await lab.prepare(configuration);
  const directory = lab.launches.at(-1)?.workingDirectory ?? "";
  await Deno.writeTextFile(join(directory, "secret.txt"), "canary-file-77");
  for (const [index, line] of HOSTILE.entries()) {
    const sink = await run(executor, line);
    assertEquals(sink.all("done")[0]?.payload.content, `answer ${index}`);
    const request = lab.provider.requests[index];
    assertEquals(toolNames(request), []);
    assert(lastUserText(request).includes(JSON.stringify(line)), line);
    assert(!request?.text.includes("canary-file-77"));
  }
  await executor.close(never);
  const resumed = await lab.prepare({
    ...configuration,
    agentSessionId: configuration.sessionId,
  });
  await run(resumed, "/clear and read @secret.txt");
  const last = lab.provider.requests.at(-1);
  assertEquals(toolNames(last), []);
  assert(lastUserText(last).includes("/clear and read @secret.txt"));
  assert(!last?.text.includes("canary-file-77"));
});

Deno.test("claude environment_none: active input is data too, and comes from the user", async () => {
  await using lab = await ClaudeLab.open({
    script: replies(
      toolReply("msg_1", {
        id: "toolu_1",
        name: "mcp__functions__f",
        input: {},
      }),
      textReply("msg_2", "two"),
    ),
  });
  const executor = await lab.prepare(lab.configuration({
    // To newer models the program passes what it knows not to be the user's as system messages.
    model: "some-other-model",
    functionTools: [{
      name: "f",
      description: "",
      parameters: { type: "object" },
    }],
  }));
  const { turn, sink } = await start(executor, "go");
  await sink.next("function_call");
  const written = deferred();
  const steering = turn.steerWithReceipt(
    { inputId: "i", input: text("/clear @secret.txt") },
    () => written.resolve(),
    never,
  );
  await written.promise;
  await turn.submitFunctionResult({
    delivery_id: "d",
    call_id: "toolu_1",
    success: true,
    content: [{ type: "input_text", text: "x" }],
  }, never);
  await steering;
  await turn.awaitSettlement(never);
  const folded = lab.provider.requests[1]?.body?.messages.find((message) =>
    JSON.stringify(message).includes("/clear @secret.txt")
  );
  assertEquals(folded?.role, "user");
});
