import { assert, assertEquals } from "@std/assert";
import {
  replies,
  textReply,
  toolReply,
} from "../../../src/loopback/messages_provider.ts";
import { ClaudeLab, never, proves, run } from "./support.ts";

interface Snapshot {
  readonly usage: { readonly input_tokens: number };
  readonly model_usage_since_last_result: Readonly<
    Record<
      string,
      { readonly inputTokens: number; readonly outputTokens: number }
    >
  >;
}

proves("usage", async () => {
  await using lab = await ClaudeLab.open({
    bound: true,
    script: replies(
      {
        type: "message",
        id: "msg_1",
        blocks: [{ type: "text", fragments: ["first"] }],
        usage: { input_tokens: 1000, output_tokens: 100 },
      },
      toolReply("msg_2", {
        id: "toolu_1",
        name: "Bash",
        input: { command: "echo hi" },
      }),
      {
        type: "message",
        id: "msg_3",
        blocks: [{ type: "text", fragments: ["second"] }],
        usage: { input_tokens: 20, output_tokens: 3 },
      },
      textReply("msg_4", "third"),
    ),
  });
  const configuration = lab.local();
  const executor = await lab.prepare(configuration);
  await run(executor, "one");
  const sink = await run(executor, "two");
  const frames = sink.all("usage").map(({ payload }) => payload);
  assertEquals(frames.length, 1);
  const usage = sink.all("done")[0]?.payload.usage;
  assertEquals(usage, frames[0]);
  assertEquals(usage?.tokens, undefined);
  assertEquals(usage?.cost_usd, undefined);
  assertEquals(usage?.provider, "claude_sdk");
  const snapshot = usage?.raw?.["claude_sdk_result"] as Snapshot;
  // 100/10 for the tool request and 20/3 for the answer; the first Turn's 1000/100 are not in it.
  const own = snapshot.model_usage_since_last_result["claude-sonnet-4-5"];
  assertEquals([own?.inputTokens, own?.outputTokens], [120, 13]);
  assertEquals(snapshot.usage.input_tokens, 120);
  await executor.close(never);
  const resumed = await lab.prepare({
    ...configuration,
    agentSessionId: configuration.sessionId,
  });
  const next = await run(resumed, "three");
  const fresh = next.all("done")[0]?.payload.usage?.raw
    ?.["claude_sdk_result"] as Snapshot;
  const since = fresh.model_usage_since_last_result["claude-sonnet-4-5"];
  assertEquals(since?.inputTokens, 100);
  assert(!("claude_sdk_results" in (usage?.raw ?? {})));
});
