/** Every scenario, replayed by a scripted Runtime against the loopback Core. */
import { replayOnCore } from "./core_replay.ts";
import { loadScenarios } from "./scenario.ts";

for (const scenario of await loadScenarios()) {
  Deno.test(`Core: ${scenario.name}`, () => replayOnCore(scenario));
}
