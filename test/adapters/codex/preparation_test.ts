/** A preparation whose program says nothing: bounded, and the failure says what was waited for. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { PreparationFailed } from "../../../src/harness/contract.ts";
import {
  FakeCodex,
  withDirectory,
} from "../../support/responses_fake_codex.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

for (
  const [method, milliseconds] of [
    ["initialize", 30_000],
    ["thread/start", 60_000],
  ] as const
) {
  Deno.test(`a program that never answers ${method} fails the preparation after ${milliseconds} ms`, () =>
    withDirectory(async (directory) => {
      const codex = new FakeCodex();
      const clock = new VirtualClock();
      codex.on(method, () => "silence");
      let over = false;
      const failure = assertRejects(
        () => codex.prepare(directory, {}, { clock }),
        PreparationFailed,
        `codex: ${method} did not finish within ${milliseconds} ms`,
      ).finally(() => over = true);
      await codex.line((line) => line.method === method);
      await clock.advance(milliseconds - 1);
      assertEquals([over, codex.closes], [false, 0]);
      await clock.advance(1);
      const { retained } = await failure;
      assertEquals(retained, undefined);
      assert(codex.closes > 0);
      assertEquals(clock.pendingTimers, 0);
    }));
}
