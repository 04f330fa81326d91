/** A machine of a test: a home, a host of releases on loopback, and a way to run the installer. */
import { assertEquals } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { type ReleaseHost, serveRelease } from "./release_host.ts";

/** The installer of this checkout, without a release key. */
export const SOURCE = fromFileUrl(new URL("../../install.sh", import.meta.url));
/** The installer is for Unix; its release stands for Linux. */
export const linux = Deno.build.os === "linux";

/** Each shell as the words that start it. */
export const shells: readonly (readonly string[])[] = [
  ["dash"],
  ["bash"],
  ["bash", "--posix"],
  ["busybox", "sh"],
];

/** Whether a program is on the search path. */
export function installed(program: string): boolean {
  const search = (Deno.env.get("PATH") ?? "").split(":");
  return search.some((directory) => {
    try {
      return Deno.statSync(join(directory, program)).isFile;
    } catch {
      return false; // not in this directory
    }
  });
}

/** Says in the test's name when a tool is missing, so that a skipped test is seen. */
export function nameFor(shell: string, name: string): string {
  return installed(shell) ? name : `${name} (skipped: ${shell} is missing)`;
}

/** What a finished script left. */
export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** See the file comment. */
export interface Machine {
  readonly directory: string;
  readonly home: string;
  readonly host: ReleaseHost;
  install(
    shell: readonly string[],
    words?: readonly string[],
    environment?: Record<string, string>,
  ): Promise<Outcome>;
}

/** Gives a machine that is removed afterwards; no temporary file of the installer may stay. */
export async function onMachine(
  body: (machine: Machine) => Promise<void>,
  programText?: string,
): Promise<void> {
  const directory = await Deno.realPath(await Deno.makeTempDir());
  try {
    await using host = await serveRelease(directory, programText);
    const home = join(directory, "home");
    await Deno.mkdir(home);
    await Deno.mkdir(join(directory, "temporary"));
    await body({
      directory,
      home,
      host,
      install: (shell, words, environment) =>
        runShell([
          ...shell,
          host.installer,
          ...(words ?? ["--base-url", host.baseUrl]),
        ], {
          ...environmentOf(directory, home),
          ...environment,
        }),
    });
    // Whatever happened, no temporary file of the installer stays.
    assertEquals([...Deno.readDirSync(join(directory, "temporary"))], []);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** The environment of everything that runs on the machine. */
export function environmentOf(
  directory: string,
  home: string,
): Record<string, string> {
  return {
    HOME: home,
    PATH: Deno.env.get("PATH") ?? "",
    TMPDIR: join(directory, "temporary"),
    NO_COLOR: "1",
    ...(Deno.env.get("HOME")
      ? {
        DENO_DIR: Deno.env.get("DENO_DIR") ??
          `${Deno.env.get("HOME")}/.cache/deno`,
      }
      : {}),
  };
}

/** Runs a shell, with `input` on its stdin. */
export async function runShell(
  words: readonly string[],
  environment: Record<string, string>,
  input?: string,
): Promise<Outcome> {
  const [program = "sh", ...rest] = words;
  const child = new Deno.Command(program, {
    args: rest,
    clearEnv: true,
    env: environment,
    stdin: input === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  if (input !== undefined) {
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(input));
    await writer.close();
  }
  const { code, stdout, stderr } = await child.output();
  const decoder = new TextDecoder();
  return {
    code,
    stdout: decoder.decode(stdout),
    stderr: decoder.decode(stderr),
  };
}
