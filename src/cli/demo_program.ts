/**
 * The Harness program of a demonstration. A machine that has none gets the tested version from npm,
 * in a folder of the state directory that nothing else uses; an installed program is never touched.
 */
import { join } from "@std/path";
import { CLAUDE_VERSIONS } from "../../adapters/claude_code/declaration.ts";
import { CODEX_VERSIONS } from "../../adapters/codex/declaration.ts";
import { PROGRAM } from "./build.ts";
import { Mistake } from "./mistake.ts";
import type { Outside } from "./outside.ts";

/** What npm calls a Harness, and the program it brings. */
interface DemoPackage {
  readonly name: string;
  readonly version: string;
  readonly program: string;
}

const PACKAGES: Readonly<Record<string, DemoPackage>> = {
  codex: {
    name: "@openai/codex",
    version: CODEX_VERSIONS.newestTested,
    program: "codex",
  },
  claude_sdk: {
    name: "@anthropic-ai/claude-code",
    version: CLAUDE_VERSIONS.newestTested,
    program: "claude",
  },
};

/**
 * The path of the program of `kind` below `stateDirectory`, installed when it is not there. Says so
 * on stderr before it reaches for the network.
 *
 * @throws {Mistake} when npm is missing or fails.
 */
export async function demoProgram(
  kind: string,
  stateDirectory: string,
  outside: Outside,
): Promise<string> {
  const wanted = PACKAGES[kind];
  if (!wanted) throw new RangeError(`Cannot demonstrate '${kind}'`);
  const { name, version, program } = wanted;
  const folder = join(stateDirectory, "demo-programs", `${program}-${version}`);
  const suffix = outside.operatingSystem === "windows" ? ".cmd" : "";
  const path = join(folder, "node_modules", ".bin", `${program}${suffix}`);
  if (await exists(path)) return path;
  outside.stderr.write(
    `${PROGRAM}: ${program} is not installed; getting ${name}@${version} from npm into ${folder} for this demonstration\n`,
  );
  await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
  const arrived = await install(folder, `${name}@${version}`, outside);
  if (arrived && await exists(path)) return path;
  throw new Mistake({
    place: kind,
    rule: `npm could not install ${name}@${version}`,
    fix: `install it: npm install --global ${name}@${version}`,
    exit: "configuration",
  });
}

async function install(
  folder: string,
  what: string,
  outside: Outside,
): Promise<boolean> {
  try {
    const npm = await new Deno.Command(
      outside.operatingSystem === "windows" ? "npm.cmd" : "npm",
      {
        args: ["install", "--prefix", folder, "--no-save", "--no-audit", what],
        stdin: "null",
        stdout: "null",
        stderr: "null",
      },
    ).output();
    return npm.success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false; // no npm here
    throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
