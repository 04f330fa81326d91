// The pure judgements, with every pair of violated rules.
import { assertEquals } from "@std/assert";
import { silentLog } from "../../src/platform/log.ts";
import { Admissions } from "../../src/runtime/admissions.ts";
import { RouterScope } from "../../src/runtime/scope.ts";
import { settleEvents, VirtualClock } from "../support/virtual_clock.ts";
import { FakeConnection } from "./fake_connection.ts";
import { countingIds } from "./world.ts";
import { Admission } from "../../src/runtime/admission.ts";
import { transition } from "../../src/runtime/admission.ts";
import type { HandleState } from "../../src/runtime/admission.ts";
import { ExecutorRecord } from "../../src/runtime/executor.ts";
import {
  decidePrepare,
  type PrepareFacts,
} from "../../src/runtime/prepare_decision.ts";
import {
  decideStart,
  type StartFacts,
} from "../../src/runtime/start_decision.ts";
import {
  declaration,
  ScriptedExecutor,
  ScriptedFactory,
} from "./scripted_harness.ts";

const configuration = {
  sessionId: "session",
  agentStateKey: "agents-api-session",
  requireExistingNativeSession: false,
  harnessConfig: {},
  observeMessages: false,
  observeSubagentIdentities: false,
  disableSubagents: false,
  functionTools: [],
  toolSearch: false,
  environment: { kind: "none" as const },
};

function executor(): ExecutorRecord {
  const record = new ExecutorRecord({
    id: "executor",
    kind: "contract",
    sessionId: "session",
    environmentId: "",
    stateKey: "agents-api-session",
    fingerprint: "configuration",
    declaration: declaration(),
    configuration,
    complete: () => Promise.resolve(configuration),
    factory: new ScriptedFactory(),
  });
  record.preparing = false;
  record.native = new ScriptedExecutor(configuration);
  return record;
}

function admission(record: ExecutorRecord | undefined): Admission {
  return new Admission({
    handle: "handle",
    requestId: "prepare",
    trace: "",
    fingerprint: "request",
    target: record === undefined
      ? { kind: "read_only", environmentId: "e", resource: undefined }
      : { kind: "executable", executor: record },
    reused: true,
    expiresAt: 0,
    deadline: 1_000,
  });
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Rule<F> = readonly [string, string, (facts: Mutable<F>) => void];

/** Each rule alone, then each pair: the earlier one answers. */
function assertOrder<F>(
  rules: readonly Rule<F>[],
  facts: () => Mutable<F>,
  judge: (facts: F) => string,
): void {
  for (const [index, [what, expected, violate]] of rules.entries()) {
    const alone = facts();
    violate(alone);
    assertEquals(judge(alone), expected, what);
    for (const [other, , also] of rules.slice(index + 1)) {
      const both = facts();
      also(both);
      violate(both);
      assertEquals(judge(both), expected, `${what} and ${other}`);
    }
  }
}

function prepareFacts(): Mutable<PrepareFacts> {
  const record = executor();
  return {
    requestFingerprint: "request",
    environmentId: "",
    executorFingerprint: "configuration",
    agentSessionId: "",
    requireExistingNativeSession: false,
    known: undefined,
    records: 0,
    owningAdmissions: 0,
    activeExecutors: 0,
    maximumActiveExecutors: 4,
    executors: 1,
    ofSession: record,
    ofStateKey: record,
  };
}

function of(facts: PrepareFacts): ExecutorRecord {
  if (facts.ofSession === undefined) throw new Error("no executor");
  return facts.ofSession;
}

const prepareRules: readonly Rule<PrepareFacts>[] = [
  ["another request under the id", "request_conflict", (facts) => {
    facts.known = admission(executor());
    facts.requestFingerprint = "other";
  }],
  ["64 records", "preparation_capacity", (facts) => (facts.records = 64)],
  ["a foreign state key", "session_binding_conflict", (facts) => {
    facts.ofStateKey = executor();
  }],
  [
    "four owning admissions",
    "preparation_capacity",
    (facts) => (facts.owningAdmissions = 4),
  ],
  [
    "four active Executors",
    "preparation_capacity",
    (facts) => (facts.activeExecutors = 4),
  ],
  [
    "an Executor that closes",
    "preparation_capacity",
    (facts) => (of(facts).invalid = "invalidated"),
  ],
  [
    "another configuration",
    "configuration_conflict",
    (facts) => (facts.executorFingerprint = "other"),
  ],
  [
    "another Environment",
    "configuration_conflict",
    (facts) => (facts.environmentId = "other"),
  ],
  [
    "an Executor in use",
    "resource_unavailable",
    (facts) => (of(facts).admission = admission(of(facts))),
  ],
  [
    "an Executor being prepared",
    "resource_unavailable",
    (facts) => (of(facts).preparing = true),
  ],
  [
    "another native session",
    "native_session_conflict",
    (facts) => (of(facts).nativeSessionId = "native"),
  ],
  [
    "required history that is not there",
    "history_unavailable",
    (facts) => (facts.requireExistingNativeSession = true),
  ],
];

Deno.test("a prepare is judged against the present state in the order of the rules", () => {
  const judge = (facts: PrepareFacts) => {
    const decision = decidePrepare(facts);
    return decision.kind === "reject" ? decision.code : decision.kind;
  };
  assertEquals(judge(prepareFacts()), "reuse");
  assertOrder(prepareRules, prepareFacts, judge);
  const none = {
    ...prepareFacts(),
    ofSession: undefined,
    ofStateKey: undefined,
  };
  assertEquals(judge({ ...none, executors: 19 }), "create");
  assertEquals(judge({ ...none, executors: 20 }), "preparation_capacity");
  assertEquals(
    judge({ ...prepareFacts(), known: admission(executor()) }),
    "republish",
  );
});

function startFacts(): Mutable<StartFacts> {
  const record = executor();
  const present = admission(record);
  record.admission = present;
  return {
    start: {
      executor_id: "executor",
      handle: "handle",
      run_id: "run",
      input: [],
    },
    requestId: "prepare",
    fingerprint: "start",
    admission: present,
    excluded: false,
    runRouted: false,
    now: 0,
  };
}

function stateOf(facts: StartFacts, state: HandleState): Admission {
  if (facts.admission === undefined) throw new Error("no admission");
  facts.admission.state = state;
  facts.admission.startFingerprint ??= "start";
  return facts.admission;
}

const startRules: readonly Rule<StartFacts>[] = [
  [
    "a write in progress",
    "resource_unavailable",
    (facts) => (facts.excluded = true),
  ],
  [
    "an unknown handle",
    "unknown_preparation",
    (facts) => (facts.admission = undefined),
  ],
  [
    "another request id",
    "unknown_preparation",
    (facts) => (facts.requestId = "other"),
  ],
  [
    "a read-only handle",
    "read_only_preparation",
    (facts) => (facts.admission = admission(undefined)),
  ],
  [
    "another Executor",
    "unknown_executor",
    (facts) => (facts.start = { ...facts.start, executor_id: "other" }),
  ],
  ["another start", "start_conflict", (facts) => {
    if (facts.admission === undefined) return;
    facts.admission.startFingerprint = "first";
    stateOf(facts, "started");
  }],
  ["the same start under way", "silent", (facts) => {
    if (facts.admission !== undefined) stateOf(facts, "starting");
  }],
  ["the handle not ready", "preparation_not_ready", (facts) => {
    if (facts.admission?.executor) {
      facts.admission.executor.invalid = "shutdown";
    }
  }],
  ["the deadline over", "expire", (facts) => (facts.now = 1_000)],
  ["the run id in use", "run_conflict", (facts) => (facts.runRouted = true)],
];

Deno.test("a start is judged in the order of the rules", () => {
  const judge = (facts: StartFacts) => {
    const decision = decideStart(facts);
    return decision.kind === "reject" ? decision.code : decision.kind;
  };
  assertEquals(judge(startFacts()), "start");
  assertOrder(startRules, startFacts, judge);
  const published = startFacts();
  stateOf(published, "started").startPublished = true;
  assertEquals(judge(published), "republish");
});

Deno.test("a handle changes only from a state it is in, one revision at a time", () => {
  const present = admission(executor());
  assertEquals(transition(present, ["preparing"], "failed"), undefined);
  assertEquals([present.state, present.revision], ["ready", 1]);
  const ended = present.ended;
  const snapshot = transition(present, ["preparing", "ready"], "released");
  assertEquals([snapshot?.state, snapshot?.revision], ["released", 2]);
  assertEquals(ended.aborted, true);
});

Deno.test("statuses of a handle leave one after the other, and a stale one not at all", async () => {
  const connection = new FakeConnection();
  const scope = new RouterScope({
    clock: new VirtualClock(),
    ids: countingIds(),
    log: silentLog,
    sender: connection,
  });
  const admissions = new Admissions(scope);
  const present = admission(executor());
  connection.hold(() => true);
  const first = admissions.publish(present, present.snapshot());
  const second = admissions.publish(present, present.snapshot());
  await settleEvents();
  const released = transition(present, ["ready"], "released");
  if (released === undefined) throw new Error("no transition");
  const third = admissions.publish(present, released);
  await settleEvents();
  assertEquals(connection.waiting, 1);
  connection.release();
  assertEquals(await Promise.all([first, second, third]), [
    "delivered",
    "superseded",
    "delivered",
  ]);
  assertEquals(connection.frames.map(({ payload }) => payload.revision), [
    1,
    2,
  ]);
});
