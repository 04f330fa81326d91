/**
 * Owns this project's Runtime under replay: the real transport and dispatcher, one process, a real
 * WebSocket, the controlled Harness. Two virtual clocks: deadlines of the dispatcher pass only in
 * `elapse`, waits of the transport only in `redial`, so that no step depends on real time.
 */
import { sessionParts } from "../../src/cli/session_parts.ts";
import { HarnessRegistry } from "../../src/harness/registry.ts";
import { systemIds } from "../../src/platform/ids.ts";
import { parseCoreUrl } from "../../src/transport/core_url.ts";
import { createNetwork } from "../../src/transport/network.ts";
import { SessionLoop } from "../../src/transport/session_loop.ts";
import { RecordingLog } from "../support/recording_log.ts";
import { VirtualClock } from "../support/virtual_clock.ts";
import { BoundFolder } from "./bound_folder.ts";
import { ControlledHarness, soon } from "./controlled_harness.ts";
import type { RuntimeUnderTest, StartRuntime } from "./runtime_under_test.ts";
import type { Scenario } from "./scenario.ts";

/** Starts the project's own Runtime. */
export const startOwnRuntime: StartRuntime = async (
  scenario: Scenario,
  core: { readonly origin: string; readonly deviceId: string },
): Promise<RuntimeUnderTest> => {
  const harness = new ControlledHarness(scenario.harness);
  const harnesses = new HarnessRegistry();
  const clock = new VirtualClock();
  const workspace = scenario.workspace === undefined
    ? undefined
    : await BoundFolder.open(scenario.workspace);
  harnesses.register(harness.discovered(workspace ? "bound" : "unbound"));
  const transportClock = new VirtualClock();
  const stop = new AbortController();
  const waiting = new PhaseWatch();
  const log = new RecordingLog();
  const loop: SessionLoop = new SessionLoop({
    core: parseCoreUrl(core.origin),
    deviceId: core.deviceId,
    userAgent: "contract/1",
    network: createNetwork({ proxy: {} }),
    clock: transportClock,
    random: { next: () => 0.5 },
    log,
    readCredential: () => "synthetic-contract-credential",
    openRouter: sessionParts({
      clock,
      ids: systemIds,
      log,
      registry: harnesses,
      ...(workspace ? { bound: workspace.parts } : {}),
    }).openRouter,
    stop: stop.signal,
    onPermanent: "exit",
    onFacts: () => waiting.notice(loop.facts.phase),
  });
  const ended = loop.run().then((exit) => exit.reason);
  return {
    counts: harness.counts,
    ...(workspace ? { files: () => workspace.files() } : {}),
    ended,
    act: (step) => harness.act(step),
    settle: (runId) => Promise.resolve(harness.settle(runId)),
    elapse: (milliseconds) => clock.advance(milliseconds),
    awaitCancel: async (runId) => await harness.turns.get(runId)?.awaitCancel(),
    lost: () => Promise.resolve(harness.release()),
    async redial() {
      await soon("the wait before a dial", waiting.reached("waiting_to_dial"));
      harness.settlesWhenCancelled = false;
      // No further: the dial that follows has a deadline on the same clock.
      await transportClock.advance(loop.facts.nextAttemptIn ?? 0);
    },
    async stop() {
      harness.release();
      stop.abort();
      try {
        return await soon("the end of the Runtime", ended);
      } finally {
        workspace?.remove();
      }
    },
  };
};

/** Waits for a phase of the session loop. */
class PhaseWatch {
  #phase = "";
  #wake: (() => void) | undefined;

  notice(phase: string): void {
    this.#phase = phase;
    this.#wake?.();
  }

  async reached(phase: string): Promise<void> {
    while (this.#phase !== phase) {
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }
}
