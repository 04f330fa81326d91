/** Histories on the real program: continued exactly, or refused; never replaced by a blank one. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import {
  answers,
  textAnswer,
} from "../../../src/loopback/responses_provider.ts";
import { deferred } from "../../../src/platform/deferred.ts";
import {
  filesBelow,
  offeredTools,
} from "../../support/responses_inspection.ts";
import { killCodex } from "../../support/responses_processes.ts";
import { CodexRig, unbounded } from "../../support/responses_rig.ts";

const sessionId = (sink: {
  all(type: "done"): { payload: { metadata?: Record<string, unknown> } }[];
}) => String(sink.all("done")[0]?.payload.metadata?.agent_session_id);

Deno.test("a recorded id continues the history in a new process", async () => {
  await using rig = await CodexRig.start({
    script: () => textAnswer("m1", "remembered answer"),
  });
  const first = await rig.prepare();
  const before = await rig.run(first, "remember me", "run-1");
  await rig.close(first);
  const second = await rig.prepare(
    rig.configuration({ agentSessionId: sessionId(before) }),
  );
  const after = await rig.run(second, "go on", "run-2");
  assertEquals(sessionId(after), sessionId(before));
  const request = rig.provider.requests[1];
  assert(request?.text.includes("remember me"));
  assert(request?.text.includes("remembered answer"));
  assertEquals(offeredTools(request), [], "the controls hold after a resume");
  const usage = after.all("done")[0]?.payload.usage;
  assertEquals(usage?.tokens?.total_tokens, 110, "history is excluded");
});

Deno.test("an unknown id fails and starts nothing", async () => {
  await using rig = await CodexRig.start({
    script: () => textAnswer("m", "x"),
  });
  await assertRejects(() =>
    rig.prepare(
      rig.configuration({
        agentSessionId: "0199a000-0000-7000-8000-000000000000",
      }),
    )
  );
  assertEquals(rig.provider.requests.length, 0);
});

Deno.test("after a kill in the first Turn exactly that history is found again", async () => {
  const never = deferred();
  await using rig = await CodexRig.start({
    script: answers(
      textAnswer("m1", "lost", never.promise),
      textAnswer("m2", "continued"),
    ),
  });
  const required = rig.configuration({ requireExistingNativeSession: true });
  await assertRejects(() => rig.prepare(required), Error, "missing");
  const unused = await rig.prepare();
  await rig.close(unused);
  await assertRejects(() => rig.prepare(required), Error, "missing");
  const first = await rig.prepare();
  const { turn, sink } = await rig.start(first, "only once", "run-1");
  await sink.next("delta");
  const id = turn.cancellationOutcome().metadata?.agent_session_id;
  await killCodex(rig.stateDirectory);
  await sink.closed;
  await rig.close(first);
  const second = await rig.prepare(required);
  const after = await rig.run(second, "again", "run-2");
  assertEquals(sessionId(after), id);
  assert(rig.provider.requests[1]?.text.includes("only once"));
  assert(!rig.provider.requests[1]?.text.includes("lost"));
  await rig.close(second);
  never.resolve();
});

Deno.test("a second history of the same home is ambiguous and none is chosen", async () => {
  await using rig = await CodexRig.start({
    script: () => textAnswer("m", "x"),
  });
  for (const run of ["run-1", "run-2"]) {
    const executor = await rig.prepare();
    await rig.run(executor, "go", run);
    await rig.close(executor);
  }
  await assertRejects(
    () =>
      rig.prepare(rig.configuration({ requireExistingNativeSession: true })),
    Error,
    "ambiguous",
  );
  assertEquals(rig.provider.requests.length, 2);
});

Deno.test("a history whose file is gone is refused, never a blank session", async () => {
  await using rig = await CodexRig.start({
    script: () => textAnswer("m", "x"),
  });
  const executor = await rig.prepare();
  const id = sessionId(await rig.run(executor, "go"));
  await rig.close(executor);
  for await (const path of filesBelow(join(rig.stateDirectory, "codex"))) {
    if (path.includes("rollout-")) await Deno.remove(path);
  }
  for (
    const changes of [
      { agentSessionId: id },
      { requireExistingNativeSession: true },
    ]
  ) await assertRejects(() => rig.prepare(rig.configuration(changes)));
  assertEquals(rig.provider.requests.length, 1);
});

Deno.test("a history with other functions fails the preparation", async () => {
  await using rig = await CodexRig.start({
    script: () => textAnswer("m", "x"),
  });
  const tool = { name: "f", description: "d", parameters: { type: "object" } };
  const first = await rig.prepare(rig.configuration({ functionTools: [tool] }));
  const id = sessionId(await rig.run(first, "go"));
  await rig.close(first);
  await assertRejects(() =>
    rig.prepare(rig.configuration({ agentSessionId: id }))
  );
  const same = await rig.prepare(
    rig.configuration({ agentSessionId: id, functionTools: [tool] }),
  );
  await rig.run(same, "go");
  assert(offeredTools(rig.provider.requests[1]).includes("f"));
});

Deno.test("a history of another Session's home is not found", async () => {
  await using rig = await CodexRig.start({
    script: () => textAnswer("m", "x"),
  });
  const executor = await rig.prepare();
  const id = sessionId(await rig.run(executor, "go"));
  await assertRejects(() =>
    rig.prepare(rig.configuration({
      agentStateKey: "agents-api-another",
      agentSessionId: id,
    }))
  );
  const aborted = new AbortController();
  aborted.abort();
  await assertRejects(() =>
    rig.factory.prepare(rig.configuration(), aborted.signal)
  );
  assertEquals(unbounded.aborted, false);
});
