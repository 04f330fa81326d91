/**
 * What every Harness must do with plain text, as one function that each adapter's test runs
 * unchanged: two kinds of Turns on one native owner, a stale cancel, active input, a real cancel.
 */
import {
  assert,
  assertEquals,
  assertNotStrictEquals,
  assertStrictEquals,
} from "@std/assert";
import type { Executor, Turn } from "../../src/harness/contract.ts";
import { systemClock, within } from "../../src/platform/clock.ts";
import type { MessageInput } from "../../src/protocol/message_input.ts";
import { RecordingSink } from "./recording_sink.ts";

/** Milliseconds for all Turns together, and for the close after them. */
const LIFECYCLE_BUDGET = 10_000;
const CLOSE_BUDGET = 5_000;

/** A prepared Executor over a native program under the control of the test. */
export interface TextLifecycleFixture {
  readonly executor: Executor;
  /** The Turn with this input ends by itself. */
  readonly completingInput: MessageInput;
  /** The Turn with this input goes on until it is cancelled. */
  readonly activeInput: MessageInput;
  /** Active input for that Turn. */
  readonly steeringInput: MessageInput;
  /** Resolves when the active Turn admits input. Gets the sink, to wait for an event of it. */
  turnReady(sink: RecordingSink): Promise<unknown>;
  /** Names the native owner itself, such as pid and native Session, not an object around it. */
  nativeOwner(): string;
  /** A larger budget than 10 s for a slow real program, in milliseconds. */
  readonly budget?: number;
}

/** Runs the six steps and closes the Executor. */
export async function assertTextLifecycle(
  fixture: TextLifecycleFixture,
): Promise<void> {
  try {
    await within(
      systemClock,
      fixture.budget ?? LIFECYCLE_BUDGET,
      "text lifecycle",
      sixSteps(fixture),
    );
  } finally {
    await within(
      systemClock,
      CLOSE_BUDGET,
      "close",
      fixture.executor.close(never()),
    );
  }
}

async function sixSteps(fixture: TextLifecycleFixture): Promise<void> {
  // 1. A Turn that completes leaves the Executor reusable and names its native Session.
  const first = await start(fixture, "run-a", fixture.completingInput);
  assertEquals(await first.turn.awaitSettlement(never()), { reusable: true });
  const sessionId = assertCompleted(first.sink);
  const owner = fixture.nativeOwner();
  assert(owner !== "", "the native owner has no identity");
  assertEquals(sessionOf(first.turn.cancellationOutcome()), sessionId);

  // 2. The next Turn is another object and becomes ready for input.
  const second = await start(fixture, "run-b", fixture.activeInput);
  assertNotStrictEquals(second.turn, first.turn);
  await fixture.turnReady(second.sink);

  // 3. A late cancel of the first touches nothing.
  await first.turn.cancel(never());
  assert(!second.sink.isClosed, "a stale cancel ended the next Turn");
  assertEquals(second.sink.ofType("done").length, 0);

  // 4. Active input is written once and consumed.
  let written = 0;
  await second.turn.steerWithReceipt(
    { inputId: "input-b1", input: fixture.steeringInput },
    () => written += 1,
    never(),
  );
  assertEquals(written, 1);

  // 5. A cancel ends exactly this Turn and keeps the Executor.
  await second.turn.cancel(never());
  assertEquals(await second.turn.awaitSettlement(never()), { reusable: true });
  second.sink.assertSound();
  assertEquals(sessionOf(second.turn.cancellationOutcome()), sessionId);
  await assertSteeringInactive(second.turn, fixture.steeringInput);

  // 6. A third Turn continues on the same native owner.
  const third = await start(fixture, "run-c", fixture.completingInput);
  assertNotStrictEquals(third.turn, second.turn);
  assertEquals(await third.turn.awaitSettlement(never()), { reusable: true });
  assertEquals(assertCompleted(third.sink), sessionId);
  assertStrictEquals(fixture.nativeOwner(), owner);
}

async function start(
  { executor }: TextLifecycleFixture,
  runId: string,
  input: MessageInput,
): Promise<{ turn: Turn; sink: RecordingSink }> {
  const sink = new RecordingSink();
  const { turn, error } = await executor.startTurn({
    runId,
    input,
    sink,
    signal: never(),
  });
  assertEquals(error, undefined);
  assert(turn, "the start gave no Turn");
  return { turn, sink };
}

function assertCompleted(sink: RecordingSink): string {
  sink.assertSound();
  assertEquals(sink.ofType("error"), []);
  const [done] = sink.ofType("done");
  return sessionOf(done?.payload);
}

function sessionOf(
  done: { readonly metadata?: unknown } | undefined,
): string {
  const metadata = done?.metadata;
  assert(
    typeof metadata === "object" && metadata !== null &&
      "agent_session_id" in metadata,
    "done names no native Session",
  );
  const { agent_session_id: sessionId } = metadata;
  assert(typeof sessionId === "string" && sessionId !== "");
  return sessionId;
}

/** A settled Turn takes no input, and says so as a refusal: nothing was consumed. */
async function assertSteeringInactive(
  turn: Turn,
  input: MessageInput,
): Promise<void> {
  let written = 0;
  const outcome = await turn.steerWithReceipt(
    { inputId: "input-late", input },
    () => written += 1,
    never(),
  ).then(() => undefined, (error: unknown) => error);
  assert(
    outcome instanceof Error && outcome.name === "SteeringRefused" &&
      "refusal" in outcome && outcome.refusal === "inactive",
    "a settled Turn took active input",
  );
  assertEquals(written, 0);
}

/** The whole lifecycle has one budget; the single calls have none. */
function never(): AbortSignal {
  return new AbortController().signal;
}
