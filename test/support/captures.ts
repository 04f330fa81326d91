/**
 * Makes `docs/captures.md`: what `status --watch`, `doctor` and `try --trace` print, from the real
 * program, the real Harness programs and a Core on loopback. What changes from run to run is
 * replaced, so that the page changes only when the program does. Run it with `deno task docs`.
 */
import { fromFileUrl, join } from "@std/path";
import { LoopbackCore } from "../../src/loopback/core.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { systemIds } from "../../src/platform/ids.ts";
import {
  agentDaemon,
  makePlace,
  type Place,
  spawnAgentDaemon,
} from "../cli/command_line.ts";
import {
  daemonWords,
  DEVICE,
  startDaemon,
  TOKEN,
} from "../cli/running_daemon.ts";
import { ensureNativePrograms } from "./native_programs.ts";

const root = fromFileUrl(new URL("../..", import.meta.url));
/** A text and what stands in its place in the page. */
type Replacement = readonly [RegExp, string];

/** What changes from run to run, whatever the machine. The order matters. */
const VOLATILE: readonly Replacement[] = [
  // deno-lint-ignore no-control-regex -- colours of a terminal
  [/\x1b\[[0-9;]*[A-Za-z]/g, ""],
  [/\b(process +|process )\d+/g, "$14711"],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "2026-01-02T03:04:05.678Z"],
  [/\b\d{2}:\d{2}:\d{2}(\.\d+)?\b/g, "03:04:05.678"],
  [/\b\d+(\.\d+)? ms\b/g, "12 ms"],
  [/\b\d+(\.\d+)? s\b/g, "1 s"],
  [/127\.0\.0\.1:\d+/g, "127.0.0.1:8080"],
  [/\b[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}\b/g, "6f0c2d1e-…"],
  [/\b[0-9a-f]{32,64}\b/g, "5d41402a…"],
  [/\d+(\.\d+)? GiB free/g, "100 GiB free"],
  [/milliseconds=[\d.]+/g, "milliseconds=12"],
  // Root is told more than an ordinary account, and has other places.
  [/^(?:ok|warn) +user: .*$/gm, "ok    user: uid 1000"],
  [/^agent-daemon: running as root; .*\n/gm, ""],
  [/\/etc\/agent-daemon/g, "/home/dev/.config/agent-daemon"],
];

/** `text` without what only this run and this machine know. */
export function normalised(
  text: string,
  places: readonly (readonly [path: string, name: string])[],
): string {
  let result = text;
  for (const [path, name] of places) result = result.replaceAll(path, name);
  for (const [pattern, name] of VOLATILE) {
    result = result.replaceAll(pattern, name);
  }
  return result;
}

/** One look of `status --watch` at a daemon with an open socket. */
async function watch(words: readonly string[], place: Place): Promise<string> {
  const child = spawnAgentDaemon(["status", "--watch", ...words], place);
  const errors = new Response(child.stderr).text();
  let text = "";
  let first: string | undefined;
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    // Each look begins with the process; the one before the last is whole.
    const looks = text.split(/^(?=process )/m).filter((look) =>
      look.includes("last heartbeat written")
    );
    if (first === undefined && looks.length > 1) {
      first = looks[0];
      child.kill("SIGINT");
    }
  }
  await child.status;
  await errors;
  return first ?? text;
}

/** The page, from three runs. */
export async function capturesPage(): Promise<string> {
  await using place = await makePlace();
  const { codex, claude } = await ensureNativePrograms();
  const core = await LoopbackCore.start({
    devices: { [DEVICE]: { credential: TOKEN } },
    clock: systemClock,
    ids: systemIds,
  });
  const harnesses = ["--codex-bin", codex, "--claude-bin", claude];
  const words = [...await daemonWords(place, core.origin), ...harnesses];
  const settings = words.filter((word) => word !== "--allow-root");
  const places: [string, string][] = [
    [codex, "/home/dev/.local/bin/codex"],
    [claude, "/home/dev/.local/bin/claude"],
    [`${place.directory}/home`, "/home/dev"],
    [place.directory, "/home/dev/agent-daemon"],
  ];
  const daemon = startDaemon(place, words);
  try {
    await core.session(DEVICE);
    const status = await watch([], place);
    const doctor = (await agentDaemon(["doctor", ...settings], place)).stdout;
    daemon.signal("SIGTERM");
    await daemon.ended;
    const { stdout, stderr } = await agentDaemon(
      ["try", "--harness", "codex", "--demo", "--trace", ...[
        "--codex-bin",
        codex,
      ], "hello"],
      place,
    );
    const shown = (text: string) =>
      `\`\`\`text\n${normalised(text, places).trimEnd()}\n\`\`\`\n`;
    return `# What it looks like

Made by \`deno task docs\` from real runs with a small Core on loopback. Times, ages, process
numbers, ids, ports and paths are replaced by fixed ones.

## \`agent-daemon status --watch\`

${shown(status)}
## \`agent-daemon doctor\`

${shown(doctor)}
## \`agent-daemon try --harness codex --demo --trace hello\`

The answer goes to stdout; everything else to stderr, which is shown first.

${shown(`${stderr}${stdout}`)}`;
  } finally {
    daemon.end();
    await daemon.ended;
    await core.shutdown();
  }
}

if (import.meta.main) {
  const path = join(root, "docs/captures.md");
  await Deno.writeTextFile(path, await capturesPage());
  await new Deno.Command(Deno.execPath(), { args: ["fmt", "--quiet", path] })
    .output();
}
