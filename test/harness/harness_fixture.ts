/** What the tests of native processes and of the scripted Harness share. */
import { assert, assertEquals } from "@std/assert";
import type { Child, CloseGrace } from "../../src/harness/child.ts";
import type {
  DiscoveredHarness,
  DiscoveryContext,
  Executor,
  PreparedConfiguration,
  Turn,
} from "../../src/harness/contract.ts";
import { processTable } from "../../src/harness/process_table.ts";
import { spawnChild } from "../../src/harness/supervised_child.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { systemIds } from "../../src/platform/ids.ts";
import type { MessageInput } from "../../src/protocol/message_input.ts";
import { RecordingLog } from "../support/recording_log.ts";
import { RecordingSink } from "../support/recording_sink.ts";
import { scriptedHarness } from "../support/scripted_harness/adapter.ts";

/** Steps short enough for a suite, long enough for a loaded machine to do the soft ones. */
export const QUICK_GRACE: CloseGrace = {
  afterEndOfInput: 400,
  afterTerminate: 400,
  afterKill: 3_000,
};

/**
 * The same for a process that ends by itself at `ending`: it may take as long for that as a loaded
 * machine makes it.
 */
export function graceFor(ending: "SIGTERM" | "SIGKILL" | null): CloseGrace {
  const patience = 30_000;
  switch (ending) {
    case null:
      return { ...QUICK_GRACE, afterEndOfInput: patience };
    case "SIGTERM":
      return { ...QUICK_GRACE, afterTerminate: patience };
    case "SIGKILL":
      return { ...QUICK_GRACE, afterKill: patience };
  }
}

/** A signal that never aborts. */
export function never(): AbortSignal {
  return new AbortController().signal;
}

/** One text message. */
export function words(text: string): MessageInput {
  return [{ content: [{ type: "input_text", text }] }];
}

/** What a test of the scripted Harness works with. */
export interface HarnessFixture {
  readonly log: RecordingLog;
  readonly harness: DiscoveredHarness;
  readonly children: readonly Child[];
  configuration(
    changes?: Partial<PreparedConfiguration>,
  ): PreparedConfiguration;
  /** Prepares an Executor whose program runs with `modes`. */
  prepare(
    modes?: readonly string[],
    changes?: Partial<PreparedConfiguration>,
  ): Promise<Executor>;
  /** Starts a Turn that must start. */
  start(
    executor: Executor,
    text: string,
  ): Promise<{ turn: Turn; sink: RecordingSink }>;
}

/**
 * Runs `body` with a discovered scripted Harness, closes every process it started, and fails when
 * one is left.
 */
export async function withHarness(
  body: (fixture: HarnessFixture) => Promise<void>,
  changes: Partial<DiscoveryContext> = {},
  closeGrace: CloseGrace = QUICK_GRACE,
): Promise<void> {
  const stateDirectory = await Deno.makeTempDir();
  const children: Child[] = [];
  const log = new RecordingLog();
  const harness = await scriptedHarness({
    closeGrace,
    onChild: (child) => children.push(child),
  }).discover({
    environment: Deno.env.toObject(),
    stateDirectory,
    bound: false,
    permissions: "unattended",
    operatingSystem: "linux",
    clock: systemClock,
    ids: systemIds,
    log,
    spawn: spawnChild,
    ...changes,
  });
  assert(harness?.factory, "the scripted Harness is unavailable");
  try {
    await body(fixtureOf(harness, children, log));
  } finally {
    await Promise.all(children.map((child) => child.close()));
    await Deno.remove(stateDirectory, { recursive: true });
  }
  for (const child of children) assertEquals(await processesOf(child.pid), []);
}

/** The pids of the group and session that `leader` opened. */
export async function processesOf(leader: number): Promise<number[]> {
  const entries = await processTable(Deno.build.os).list();
  return entries.filter(({ pid, group, session }) =>
    pid === leader || group === leader || session === leader
  ).map(({ pid }) => pid);
}

/** Whether a process with this pid lives. */
export async function lives(pid: number): Promise<boolean> {
  const entries = await processTable(Deno.build.os).list();
  return entries.some((entry) => entry.pid === pid);
}

function fixtureOf(
  harness: DiscoveredHarness,
  children: readonly Child[],
  log: RecordingLog,
): HarnessFixture {
  const configuration = (changes: Partial<PreparedConfiguration> = {}) => ({
    sessionId: "session",
    agentStateKey: "agents-api-session",
    requireExistingNativeSession: false,
    harnessConfig: {},
    observeMessages: false,
    observeSubagentIdentities: false,
    disableSubagents: false,
    functionTools: [],
    toolSearch: false,
    environment: { kind: "none" } as const,
    ...changes,
  });
  const { factory } = harness;
  assert(factory);
  return {
    log,
    harness,
    children,
    configuration,
    prepare: (modes = [], changes = {}) =>
      factory.prepare(
        configuration({ harnessConfig: { modes }, ...changes }),
        never(),
      ),
    async start(executor, text) {
      const sink = new RecordingSink();
      const input = words(text);
      const { turn, error } = await executor.startTurn({
        runId: "run",
        input,
        sink,
        signal: never(),
      });
      assertEquals(error, undefined);
      assert(turn);
      return { turn, sink };
    },
  };
}
