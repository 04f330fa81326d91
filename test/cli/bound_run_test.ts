/** `run --workspace` as a process of its own: what it declares, serves and keeps over a restart. */
import { assert, assertEquals } from "@std/assert";
import { LoopbackCore } from "../../src/loopback/core.ts";
import { WorkspaceClient } from "../../src/loopback/workspace_client.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { systemIds } from "../../src/platform/ids.ts";
import { untar } from "../workspace/untar.ts";
import { makePlace, type Place } from "./command_line.ts";
import {
  CONTRACT,
  daemonWords,
  DEVICE,
  type RunningDaemon,
  startDaemon,
  TOKEN,
} from "./running_daemon.ts";

const ENVIRONMENT = "11111111-1111-4111-8111-111111111111";
const SESSION = "22222222-2222-4222-8222-222222222222";

interface BoundDaemon {
  readonly daemon: RunningDaemon;
  readonly client: WorkspaceClient;
}

/** Starts a bound daemon and waits until Core knows it. */
async function started(
  core: LoopbackCore,
  place: Place,
  workspace: string,
): Promise<BoundDaemon> {
  const daemon = startDaemon(place, [
    "run",
    ...await daemonWords(place, core.origin),
    ...["--workspace", workspace],
    ...["--environment-id", ENVIRONMENT, "--session-id", SESSION],
  ], CONTRACT);
  const session = await Promise.race([
    core.session(DEVICE),
    daemon.ended.then(() => {
      throw new Error(`the daemon ended: ${daemon.errorText()}`);
    }),
  ]);
  const client = new WorkspaceClient(session, {
    agentKind: "contract",
    environmentId: ENVIRONMENT,
    sessionId: SESSION,
  }, systemIds);
  return { daemon, client };
}

async function stopped({ daemon }: BoundDaemon): Promise<void> {
  daemon.signal("SIGTERM");
  assertEquals((await daemon.ended).code, 0, daemon.errorText());
}

Deno.test("a bound daemon serves its workspace, and what was sealed outlives it", async () => {
  await using place = await makePlace();
  // A workspace may not lie beside the token: that directory is the daemon's own.
  const workspace = await Deno.makeTempDir();
  const core = await LoopbackCore.start({
    devices: { [DEVICE]: { credential: TOKEN } },
    clock: systemClock,
    ids: systemIds,
  });
  const daemons: RunningDaemon[] = [];
  try {
    const first = await started(core, place, workspace);
    daemons.push(first.daemon);
    const body = new TextEncoder().encode("hello");
    const { client } = first;
    assertEquals(
      await client.initialize(
        { action: "file", file: { path: "/workspace/given.txt" } },
        body,
      ),
      { kind: "completed" },
    );
    assertEquals(
      await client.initialize({ action: "finalize", sources: {} }),
      { kind: "completed" },
    );
    assertEquals(await client.write("outputs/a.txt", body), {
      kind: "completed",
    });
    const list = await client.list("", 10);
    assert(list.kind === "data");
    assertEquals(list.value.entries.map(({ name }) => name), [
      "given.txt",
      "outputs",
    ]);
    await stopped(first);

    const second = await started(core, place, workspace);
    daemons.push(second.daemon);
    assertEquals(
      await second.client.initialize(
        { action: "file", file: { path: "/workspace/late.txt" } },
        body,
      ),
      { kind: "failed" },
    );
    const archive = await second.client.exportOutputs();
    assert(archive.kind === "data");
    assertEquals(untar(archive.value).get("outputs/a.txt"), body);
    await stopped(second);
    assertEquals([...Deno.readDirSync(workspace)].length, 2);
  } finally {
    for (const daemon of daemons) daemon.end();
    await core.shutdown();
    await Deno.remove(workspace, { recursive: true });
  }
});
