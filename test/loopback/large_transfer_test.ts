/** The largest body through the whole daemon: a real socket in both directions, with its digest. */
import { assert, assertEquals } from "@std/assert";
import { randomBytes } from "node:crypto";
import { join } from "@std/path";
import { openLoopbackRig } from "../../src/cli/loopback_rig.ts";
import { systemOutside } from "../../src/cli/outside.ts";
import { digestOf } from "../../src/loopback/transfers.ts";
import { WorkspaceClient } from "../../src/loopback/workspace_client.ts";
import { systemIds } from "../../src/platform/ids.ts";
import { RecordingLog } from "../support/recording_log.ts";
import { untar } from "../workspace/untar.ts";
import { boundEcho } from "./bound_echo.ts";

Deno.test("50 MiB go up and come down over a real connection, byte for byte", async () => {
  const folder = await Deno.makeTempDir();
  const root = join(folder, "workspace");
  const stateDirectory = join(folder, "state");
  await Deno.mkdir(root);
  await Deno.mkdir(stateDirectory, { mode: 0o700 });
  const identity = {
    environmentId: systemIds.uuid(),
    sessionId: systemIds.uuid(),
  };
  const log = new RecordingLog();
  const rig = await openLoopbackRig({
    adapter: boundEcho,
    outside: systemOutside(),
    log,
    stateDirectory,
    bound: { ...identity, root },
  });
  try {
    const client = new WorkspaceClient(
      rig.session,
      { agentKind: boundEcho.kind, ...identity },
      systemIds,
    );
    const data = randomBytes(50 * 1024 * 1024);
    assertEquals(await client.write("outputs/big", data), {
      kind: "completed",
    });
    const archive = await client.exportOutputs();
    assert(archive.kind === "data", archive.kind);
    const [[name, content] = []] = untar(archive.value);
    assertEquals(
      [name, digestOf(content ?? new Uint8Array())],
      ["outputs/big", digestOf(data)],
    );
  } finally {
    await rig.close();
    await Deno.remove(folder, { recursive: true });
  }
});
