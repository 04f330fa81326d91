/**
 * Owns what a replay needs of a Runtime: dial this Core, do native things, let time pass, stop. The
 * project's own Runtime is one; a program behind a command line is another.
 */
import type { NativeCounts } from "./controlled_harness.ts";
import type { Scenario, Step } from "./scenario.ts";

/** A Runtime that a scripted Core can drive. */
export interface RuntimeUnderTest {
  /** Carries out a `native` step. */
  act(step: Extract<Step, { step: "native" }>): Promise<void>;
  /** Lets the native Turn settle. */
  settle(runId: string): Promise<void>;
  /** Lets time pass for deadlines; connections are not affected. */
  elapse(milliseconds: number): Promise<void>;
  /** Waits for the native cancellation that a sent cancellation must cause. */
  awaitCancel(runId: string): Promise<void>;
  /** The connection was lost: native work may settle now. */
  lost(): Promise<void>;
  /** Lets the Runtime dial again; resolves when it may have. */
  redial(): Promise<void>;
  /** Ends the Runtime and proves that it ended. Returns what it ended with. */
  stop(): Promise<string>;
  /** Resolves when the Runtime ended by itself, with the reason. */
  readonly ended: Promise<string>;
  /** Text files of the bound workspace by path, when they can be observed. */
  readonly files?: () => Readonly<Record<string, string>>;
  /** Native effects, when they can be observed. */
  readonly counts?: NativeCounts;
}

/** Starts a Runtime against a Core. */
export type StartRuntime = (
  scenario: Scenario,
  core: { readonly origin: string; readonly deviceId: string },
) => Promise<RuntimeUnderTest>;
