/** An {@linkcode Outside} in memory, for the parts that are tested without a process. */
import type { Output, Outside } from "../../src/cli/outside.ts";
import { systemIds, systemRandom } from "../../src/platform/ids.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

/** Collects what is written. */
export interface CollectingOutput extends Output {
  readonly text: string;
}

/** A non-terminal output that keeps its text. */
export function collectingOutput(): CollectingOutput {
  let text = "";
  return {
    write: (more) => void (text += more),
    isTerminal: false,
    columns: () => 80,
    get text() {
      return text;
    },
  };
}

/** An outside with nothing in it, changed by `parts`. */
export function outsideDouble(
  parts: Partial<Outside> = {},
): Outside & { stdout: CollectingOutput; stderr: CollectingOutput } {
  return {
    environment: {},
    operatingSystem: "linux",
    userId: 1000,
    home: "/home/nobody-here",
    workingDirectory: "/work-here",
    readStdin: () => Promise.resolve(new Uint8Array()),
    clock: new VirtualClock(),
    ids: systemIds,
    random: systemRandom,
    ...parts,
    stdout: collectingOutput(),
    stderr: collectingOutput(),
  };
}
