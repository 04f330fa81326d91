/**
 * `selftest`: proves that this build works, without network, login or Harness: the wire through a
 * real socket, the lock, files and child processes. It says nothing about a Harness.
 */
import { spawnChild } from "../harness/supervised_child.ts";
import { sessionConfiguration } from "../loopback/admission_rules.ts";
import type { ObservedRun } from "../loopback/observed_run.ts";
import type { MessageInput } from "../protocol/message_input.ts";
import { within } from "../platform/clock.ts";
import { takeDeviceLock } from "../platform/lock.ts";
import { silentLog } from "../platform/log.ts";
import type { Invocation } from "./command.ts";
import { echoAdapter, FINISH } from "./echo_harness.ts";
import { EXIT_CODES } from "./exit_codes.ts";
import { type LoopbackRig, openLoopbackRig } from "./loopback_rig.ts";
import type { Outside } from "./outside.ts";
import { describeOutcome } from "./turn_report.ts";

/** The longest that one check may take, in milliseconds. */
const CHECK_LIMIT = 20_000;
/** Longest line of the child that is spawned, in bytes: a version line. */
const LINE_LIMIT = 4096;
/** Steps of ending that child, in milliseconds. */
const CHILD_GRACE = {
  afterEndOfInput: 1000,
  afterTerminate: 1000,
  afterKill: 1000,
} as const;

/** What the checks share. */
interface Bench {
  readonly outside: Outside;
  /** A 0700 directory of this run. */
  readonly directory: string;
}

/** Proves one thing; resolves to what it proved, rejects with why not. */
type Check = (bench: Bench) => Promise<string>;

const checks: readonly { readonly name: string; readonly check: Check }[] = [
  { name: "turn", check: turnCheck },
  { name: "lock", check: lockCheck },
  { name: "child", check: childCheck },
];

/** The result of one check. */
export interface CheckResult {
  readonly check: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** The command. */
export async function selftestCommand(
  invocation: Invocation,
  outside: Outside,
): Promise<number> {
  const results = await runSelftest(outside);
  const json = invocation.options.has("json");
  if (json) outside.stdout.write(`${JSON.stringify({ checks: results })}\n`);
  else {
    for (const { check, ok, detail } of results) {
      outside.stdout.write(`${ok ? "ok  " : "fail"} ${check}: ${detail}\n`);
    }
  }
  return results.every(({ ok }) => ok)
    ? EXIT_CODES.ok.code
    : EXIT_CODES.negative.code;
}

/** Runs every check, one after the other, in a directory that is removed again. */
export async function runSelftest(
  outside: Outside,
): Promise<readonly CheckResult[]> {
  const directory = await Deno.makeTempDir({ prefix: "agent-daemon-" });
  const results: CheckResult[] = [];
  try {
    for (const { name, check } of checks) {
      const work = check({ outside, directory });
      results.push(
        await within(outside.clock, CHECK_LIMIT, name, work).then(
          (detail) => ({ check: name, ok: true, detail }),
          (error: unknown) => ({ check: name, ok: false, detail: why(error) }),
        ),
      );
    }
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
  return results;
}

/** Prepares, starts, steers and completes a Turn, then cancels another, over a real socket. */
async function turnCheck({ outside, directory }: Bench): Promise<string> {
  const rig = await openLoopbackRig({
    adapter: echoAdapter,
    outside,
    log: silentLog,
    stateDirectory: directory,
  });
  try {
    await completedTurn(rig, outside);
    await cancelledTurn(rig, outside);
  } finally {
    await rig.close();
  }
  return "prepared, streamed, steered, completed and cancelled over a socket";
}

async function completedTurn(
  rig: LoopbackRig,
  outside: Outside,
): Promise<void> {
  const run = await started(rig, outside, "hello");
  const delivery = rig.session.steer(run.runId, "1", said(FINISH));
  expect(await delivery.written, "the input was not written");
  const receipt = await delivery.settled;
  expect(receipt.kind === "accepted", `the input is ${receipt.kind}`);
  let text = "";
  for await (const event of run) {
    if (event.type === "delta") text += event.payload.delta;
  }
  const outcome = await run.outcome;
  expect(outcome.kind === "completed", describeOutcome(outcome));
  expect(text === `hello${FINISH}`, "the output is not what was said");
}

async function cancelledTurn(
  rig: LoopbackRig,
  outside: Outside,
): Promise<void> {
  const run = await started(rig, outside, "endless");
  const receipt = await rig.session.cancel(run.runId);
  expect(receipt.kind === "applied", `the cancellation is ${receipt.kind}`);
}

async function started(
  rig: LoopbackRig,
  outside: Outside,
  text: string,
): Promise<ObservedRun> {
  const sessionId = outside.ids.uuid();
  const preparation = rig.session.prepare({
    sessionId,
    configuration: sessionConfiguration(
      { agentKind: echoAdapter.kind, sessionId },
      rig.declaration,
    ),
  });
  const ready = await preparation.ready;
  expect(ready.kind === "ready", `the preparation is ${ready.kind}`);
  const run = rig.session.start(preparation, { input: said(text) });
  const start = await run.started;
  expect(start.kind === "started", `the start is ${start.kind}`);
  return run;
}

/** Takes the device lock twice: the second time it must be refused. */
async function lockCheck({ outside, directory }: Bench): Promise<string> {
  const subject = {
    origin: "http://127.0.0.1",
    deviceId: outside.ids.uuid(),
  };
  const first = await takeDeviceLock(directory, subject, outside);
  if (!first.ok) throw new Error("the lock could not be taken");
  try {
    const second = await takeDeviceLock(directory, subject, outside);
    if (second.ok) {
      second.lock.release();
      throw new Error("two owners hold the same lock");
    }
  } finally {
    first.lock.release();
  }
  return "one holder at a time";
}

/** Starts a child process, reads a line of it and proves that it is gone. */
async function childCheck({ outside, directory }: Bench): Promise<string> {
  const child = await spawnChild({
    program: Deno.execPath(),
    // This program itself, or Deno where it runs from source: both know the flag.
    arguments: ["--version"],
    workingDirectory: directory,
    environment: { HOME: directory, NO_COLOR: "1" },
    name: "selftest child",
    clock: outside.clock,
    log: silentLog,
    closeGrace: CHILD_GRACE,
    maximumLineBytes: LINE_LIMIT,
    stdout: "text",
  });
  try {
    let lines = 0;
    for await (const _line of child.messages) lines++;
    expect(lines > 0, "the child said nothing");
    const { code } = await child.exited;
    expect(code === 0, `the child ended with ${code}`);
  } finally {
    await child.close();
  }
  return "started, read, reaped, none left";
}

function said(text: string): MessageInput {
  return [{ content: [{ type: "input_text", text }] }];
}

function expect(condition: boolean, otherwise: string): asserts condition {
  if (!condition) throw new Error(otherwise);
}

function why(error: unknown): string {
  return error instanceof Error ? error.message : "failed";
}
