/** Every scenario, replayed by a scripted Core against the real transport and dispatcher. */
import { startOwnRuntime } from "./own_runtime.ts";
import { replayOnRuntime } from "./runtime_replay.ts";
import { loadScenarios } from "./scenario.ts";

for (const scenario of await loadScenarios()) {
  Deno.test(
    `Runtime: ${scenario.name}`,
    () => replayOnRuntime(scenario, startOwnRuntime),
  );
}
