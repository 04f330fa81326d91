/** Preparations whose programs say nothing, or do not end. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { CODEX_LIMITS } from "../../../adapters/codex/limits.ts";
import { prepareExecutor } from "../../../adapters/codex/prepare.ts";
import { CloseUnconfirmed } from "../../../src/harness/child.ts";
import { PreparationFailed } from "../../../src/harness/contract.ts";
import { systemIds } from "../../../src/platform/ids.ts";
import { RecordingLog } from "../../support/recording_log.ts";
import {
  FakeCodex,
  fakeConfiguration,
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

for (const answer of [{ models: [] }, undefined]) {
  const answers = answer ? "answers" : "says nothing";
  Deno.test(`a catalogue program that ${answers} and cannot be ended is handed back to be closed`, () =>
    withDirectory(async (directory) => {
      let closes = 0;
      const failure = await assertRejects(() =>
        prepareExecutor(
          {
            program: "/fake/codex",
            leadingArguments: [],
            pathPrefix: [],
            stateDirectory: directory,
            environment: {},
            operatingSystem: "linux",
            permissions: "unattended",
            limits: CODEX_LIMITS,
            clock: new VirtualClock(),
            ids: systemIds,
            log: new RecordingLog(),
            spawn: ({ name }) => {
              assertEquals(name, "codex debug models");
              return Promise.resolve({
                pid: 1,
                messages: (async function* () {
                  if (answer) yield await Promise.resolve(answer);
                })(),
                exited: new Promise(() => {}),
                write: () => Promise.resolve(),
                stderrTail: () => "",
                kill() {},
                close: () =>
                  ++closes === 1
                    ? Promise.reject(new CloseUnconfirmed("may still live: 1"))
                    : Promise.resolve(),
              });
            },
          },
          fakeConfiguration(directory, { environment: { kind: "none" } }),
          new AbortController().signal,
        ), PreparationFailed);
      const { retained } = failure;
      assert(retained);
      assertEquals(closes, 1);
      await retained.close(new AbortController().signal);
      assertEquals(closes, 2);
    }));
}
