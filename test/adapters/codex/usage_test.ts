/** Tokens of a Run out of counters that the engine keeps over a whole history. */
import { assertEquals } from "@std/assert";
import {
  NO_HISTORY,
  readTotal,
  RunUsage,
} from "../../../adapters/codex/usage.ts";
import {
  type FakeCodex,
  fakeCodex,
  never,
  terminal,
  TURN,
} from "./fake_app_server.ts";

/** Native counters, the cached input inside the input and the reasoning inside the output. */
function counters(scale: number): object {
  return {
    inputTokens: 100 * scale,
    cachedInputTokens: 40 * scale,
    outputTokens: 20 * scale,
    reasoningOutputTokens: 5 * scale,
    totalTokens: 120 * scale,
  };
}

const TOKENS = {
  input_tokens: 100,
  cached_input_tokens: 40,
  output_tokens: 20,
  reasoning_output_tokens: 5,
  total_tokens: 120,
};

function report(codex: FakeCodex, total: object, turnId = TURN): void {
  codex.child.notify("thread/tokenUsage/updated", {
    turnId,
    tokenUsage: { total },
  });
}

async function usageOf(
  codex: FakeCodex,
  reports: (codex: FakeCodex) => void,
) {
  const { turn, sink } = await codex.begin();
  reports(codex);
  codex.child.notify("turn/completed", terminal("completed"));
  await turn.awaitSettlement(never);
  return {
    frames: sink.all("usage").map(({ payload }) => payload),
    done: sink.all("done")[0]?.payload.usage,
  };
}

Deno.test("a cumulative report that repeats replaces the former one, and done has the last", async () => {
  await using codex = await fakeCodex();
  const { frames, done } = await usageOf(codex, () => {
    for (let count = 0; count < 3; count++) report(codex, counters(1));
  });
  assertEquals(done?.tokens, TOKENS);
  assertEquals([done?.input_tokens, done?.output_tokens], [100, 20]);
  for (const frame of frames) assertEquals(frame, done);
});

Deno.test("what a history used before is not of the Run", async () => {
  await using codex = await fakeCodex({ resumed: true });
  report(codex, counters(7), "an earlier one");
  const { done } = await usageOf(codex, () => report(codex, counters(8)));
  assertEquals(done?.tokens, TOKENS);
});

Deno.test("a history that reported nothing makes the Run's tokens unknown, not zero", async () => {
  await using codex = await fakeCodex({ resumed: true });
  const { done, frames } = await usageOf(
    codex,
    () => report(codex, counters(8)),
  );
  assertEquals([done, frames], [undefined, []]);
});

Deno.test("counters below the history are no exact tokens", async () => {
  await using codex = await fakeCodex({ resumed: true });
  report(codex, counters(7), "an earlier one");
  const { done } = await usageOf(codex, () => report(codex, counters(6)));
  assertEquals(done, undefined);
});

Deno.test("a Run without a report has no usage", async () => {
  await using codex = await fakeCodex();
  const { done, frames } = await usageOf(codex, () => {});
  assertEquals([done, frames], [undefined, []]);
});

Deno.test("a lost answer of the provider leaves no exact tokens", async () => {
  await using codex = await fakeCodex();
  const { done } = await usageOf(codex, () => {
    codex.child.notify("error", {
      willRetry: true,
      error: { message: "stream lost" },
    });
    report(codex, counters(1));
  });
  assertEquals(done?.tokens, undefined);
  assertEquals(done?.input_tokens, 100);
});

Deno.test("tokens are exact only when all five are known and agree", () => {
  const snapshot = (members: object) => {
    const usage = new RunUsage(NO_HISTORY, undefined);
    usage.report(readTotal({ ...counters(1), ...members }));
    return usage.snapshot();
  };
  assertEquals(snapshot({})?.tokens, TOKENS);
  for (
    const members of [
      { cachedInputTokens: undefined },
      { cachedInputTokens: 101 },
      { reasoningOutputTokens: 21 },
      { totalTokens: 121 },
      { totalTokens: 99 },
      { outputTokens: -1 },
      { outputTokens: 1.5 },
      { outputTokens: "20" },
    ]
  ) assertEquals(snapshot(members)?.tokens, undefined, JSON.stringify(members));
  assertEquals(snapshot({ outputTokens: null })?.output_tokens, undefined);
});
