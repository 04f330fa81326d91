/** Finds the `claude` program once and proves that it answers on its own pipes. */
import * as z from "zod";
import type { DiscoveryContext } from "../../src/harness/contract.ts";
import {
  locateProgram,
  type ProgramLocation,
} from "../../src/harness/discovery.ts";
import { asError } from "./as_error.ts";
import { ControlChannel } from "./control_channel.ts";
import { PROBE_ARGUMENTS } from "./launch.ts";
import { baseEnvironment } from "./launch_environment.ts";
import { readFrame } from "./native_frames.ts";
import {
  createNativeHome,
  type NativeHome,
  nativeHome,
} from "./native_home.ts";

/** The program and what goes before its arguments: the script, where a shim names one. */
export interface FoundProgram {
  readonly program: string;
  readonly leadingArguments: readonly string[];
}

/** Looks at the operator's path only, or else along PATH and the usual places. */
export function locateClaude(
  context: DiscoveryContext,
): Promise<ProgramLocation> {
  const { program, environment, operatingSystem } = context;
  const home = environment["HOME"];
  return locateProgram({
    name: "claude",
    ...(program === undefined ? {} : { program }),
    environment,
    operatingSystem,
    ...(home === undefined ? {} : { directories: [`${home}/.claude/local`] }),
  });
}

/** The version of a program that answered, or a sentence on why it did not. */
export type ProbedProgram =
  | { readonly ok: true; readonly version: string }
  | { readonly ok: false; readonly reason: string };

/** The whole probe, its process' end included, stays within discovery's 15 seconds. */
const ANSWER_MILLISECONDS = 8_000;
const PROBE_GRACE = {
  afterEndOfInput: 1_000,
  afterTerminate: 2_000,
  afterKill: 3_000,
};
/** The answer lists models and agents; measured at 20 KB. */
const MAXIMUM_ANSWER_BYTES = 1024 * 1024;

const answer = z.object({ claude_code_version: z.string() });

/** Starts the program as an execution would, asks who it is, and ends it. No provider is asked. */
export async function probeClaude(
  context: DiscoveryContext,
  found: FoundProgram,
): Promise<ProbedProgram> {
  const home = nativeHome(context.stateDirectory, "discovery probe");
  await createNativeHome(home);
  try {
    return await probeIn(context, found, home);
  } catch (error) {
    context.log.warn("claude_probe_failed", {
      error: error instanceof Error ? error : String(error),
    });
    return {
      ok: false,
      reason: "The program did not answer its first request",
    };
  } finally {
    await Deno.remove(home.root, { recursive: true });
  }
}

async function probeIn(
  context: DiscoveryContext,
  found: FoundProgram,
  home: NativeHome,
): Promise<ProbedProgram> {
  const child = await context.spawn({
    program: found.program,
    arguments: [...found.leadingArguments, ...PROBE_ARGUMENTS],
    workingDirectory: home.work,
    environment: baseEnvironment(context, home, {}),
    name: "claude probe",
    clock: context.clock,
    log: context.log,
    closeGrace: PROBE_GRACE,
    maximumLineBytes: MAXIMUM_ANSWER_BYTES,
  });
  const control = new ControlChannel(child, context.clock, context.ids);
  const reading = readAnswers(child.messages, control);
  try {
    const read = answer.safeParse(
      await control.request("initialize", {}, ANSWER_MILLISECONDS),
    );
    return read.success
      ? { ok: true, version: read.data.claude_code_version }
      : { ok: false, reason: "The program reports no version" };
  } finally {
    await child.close();
    await reading;
  }
}

async function readAnswers(
  messages: AsyncIterable<unknown>,
  control: ControlChannel,
): Promise<void> {
  try {
    for await (const value of messages) {
      const frame = readFrame(value);
      if (frame?.type === "control_response") control.answered(frame);
    }
    control.end(new Error("The program ended"));
  } catch (error) {
    control.end(asError(error));
  }
}
