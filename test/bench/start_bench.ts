// How long until the daemon is there: from the start of the process to its first heartbeat at a Core
// on loopback, checks, lock, discovery, bootstrap and dial included. Against an empty Deno program.
import { fromFileUrl } from "@std/path";
import { LoopbackCore } from "../../src/loopback/core.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { systemIds } from "../../src/platform/ids.ts";
import { makePlace } from "../cli/command_line.ts";
import {
  daemonWords,
  DEVICE,
  startDaemon,
  TOKEN,
} from "../cli/running_daemon.ts";

const GROUP = { group: "start", n: 6, warmup: 1 };
const BARE = fromFileUrl(new URL("./bare_idle.ts", import.meta.url));

Deno.bench("bare Deno to its first line", {
  ...GROUP,
  baseline: true,
}, async (b) => {
  b.start();
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--no-check", BARE],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.getReader();
  await reader.read();
  b.end();
  await child.stdin.close();
  await reader.cancel();
  await child.status;
});

Deno.bench("ours to the first heartbeat", GROUP, async (b) => {
  await using place = await makePlace();
  const core = await LoopbackCore.start({
    devices: { [DEVICE]: { credential: TOKEN } },
    clock: systemClock,
    ids: systemIds,
  });
  const words = [
    ...await daemonWords(place, core.origin),
    ...["--codex-bin", "off", "--claude-bin", "off"],
  ];
  b.start();
  const daemon = startDaemon(place, words);
  await core.session(DEVICE); // resolves with the first heartbeat
  b.end();
  daemon.signal("SIGTERM");
  await daemon.ended;
  await core.shutdown();
});
