// Prints what an idle daemon holds in memory after its first heartbeat, beside an empty Deno program
// on the same machine. A program of its own: it measures processes, not time.
import { strict as assert } from "node:assert";
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

/** Resident memory of a process in MiB. */
async function residentMebibytes(pid: number): Promise<number> {
  const { stdout } = await new Deno.Command("ps", {
    args: ["-o", "rss=", "-p", String(pid)],
  }).output();
  const kibibytes = Number(new TextDecoder().decode(stdout).trim());
  assert(kibibytes > 0);
  return kibibytes / 1024;
}

async function bare(): Promise<number> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--quiet",
      "--no-check",
      fromFileUrl(new URL("./bare_idle.ts", import.meta.url)),
    ],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.getReader();
  await reader.read();
  const resident = await residentMebibytes(child.pid);
  await child.stdin.close();
  await reader.cancel();
  await child.status;
  return resident;
}

async function ours(): Promise<number> {
  await using place = await makePlace();
  const core = await LoopbackCore.start({
    devices: { [DEVICE]: { credential: TOKEN } },
    clock: systemClock,
    ids: systemIds,
  });
  const daemon = startDaemon(place, [
    ...await daemonWords(place, core.origin),
    ...["--codex-bin", "off", "--claude-bin", "off"],
  ]);
  await core.session(DEVICE);
  const resident = await residentMebibytes(daemon.pid);
  daemon.signal("SIGTERM");
  await daemon.ended;
  await core.shutdown();
  return resident;
}

if (Deno.build.os !== "windows") {
  const empty = await bare();
  const idle = await ours();
  Deno.stdout.writeSync(
    new TextEncoder().encode(
      `idle memory: bare Deno ${empty.toFixed(0)} MiB, ours ${
        idle.toFixed(0)
      } MiB, ${(idle / empty).toFixed(2)}x\n`,
    ),
  );
}
