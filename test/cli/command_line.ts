/** Runs the real program as a child, with an environment that holds only what a test gives. */
import { fromFileUrl, join } from "@std/path";

/** The program's entry. */
export const MAIN = fromFileUrl(new URL("../../main.ts", import.meta.url));

/** The longest run of a command that ends by itself, in milliseconds. */
const LONGEST_RUN = 60_000;

/** How Deno runs the program from a checkout whose dependencies are installed. */
export const RUN: readonly string[] = [
  ...["run", "-A", "--quiet", "--no-check", "--node-modules-dir=manual"],
];

/** What a finished run left. */
export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A private place for one test: home, state and configuration below one directory. */
export interface Place {
  readonly directory: string;
  readonly environment: Record<string, string>;
  /** Writes a file of this mode and returns its path. */
  write(name: string, text: string, mode?: number): Promise<string>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Creates a place whose directories only this user can write. */
export async function makePlace(): Promise<Place> {
  const directory = await Deno.realPath(await Deno.makeTempDir());
  const home = join(directory, "home");
  await Deno.mkdir(home, { mode: 0o700 });
  return {
    directory,
    environment: {
      HOME: home,
      PATH: Deno.env.get("PATH") ?? "/usr/bin:/bin",
      NO_COLOR: "1",
      DENO_NO_UPDATE_CHECK: "1",
      ...denoDirectory(),
      AGENT_DAEMON_STATE_DIR: join(directory, "state"),
    },
    async write(name, text, mode = 0o600) {
      const path = join(directory, name);
      await Deno.writeTextFile(path, text);
      await Deno.chmod(path, mode);
      return path;
    },
    async [Symbol.asyncDispose]() {
      await Deno.remove(directory, { recursive: true });
    },
  };
}

/** The module cache of this run, so that a child with another home does not fill its own. */
function denoDirectory(): Record<string, string> {
  const given = Deno.env.get("DENO_DIR");
  if (given) return { DENO_DIR: given };
  const home = Deno.env.get("HOME");
  return home ? { DENO_DIR: join(home, ".cache/deno") } : {};
}

/** Options of {@linkcode agentDaemon}. */
export interface RunOptions {
  readonly environment: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly workingDirectory?: string;
}

/** Starts the program; the caller waits for or ends it. */
export function spawnAgentDaemon(
  words: readonly string[],
  options: RunOptions,
): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: [...RUN, MAIN, ...words],
    clearEnv: true,
    env: { ...options.environment },
    stdin: options.stdin === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
    ...(options.workingDirectory === undefined
      ? {}
      : { cwd: options.workingDirectory }),
  }).spawn();
}

/** Runs the program to its end. */
export async function agentDaemon(
  words: readonly string[],
  options: RunOptions,
): Promise<Finished> {
  const child = spawnAgentDaemon(words, options);
  if (options.stdin !== undefined) {
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(options.stdin));
    await writer.close();
  }
  // A program that should have ended but serves on must fail its test, not hold it up.
  const timer = setTimeout(() => child.kill("SIGKILL"), LONGEST_RUN);
  const { code, stdout, stderr } = await child.output();
  clearTimeout(timer);
  const decoder = new TextDecoder();
  return {
    code,
    stdout: decoder.decode(stdout),
    stderr: decoder.decode(stderr),
  };
}
