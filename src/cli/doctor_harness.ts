/** The checks of `doctor` about Harnesses: programs, versions, logins, and the service's search path. */
import { join } from "@std/path";
import type { DiscoveredHarness } from "../harness/contract.ts";
import { type Check, ok, skip, warn } from "./doctor_check.ts";
import { lookForHarnesses, withHarnesses } from "./harness_list.ts";
import type { Outside } from "./outside.ts";
import type { Settings } from "./settings.ts";

/** Programs that Harnesses and their tools commonly need. */
const TOOLS = ["git", "bash", "node"] as const;

/** All checks. `serviceSearchPath` is the PATH of an installed service. */
export async function harnessChecks(
  settings: Settings,
  outside: Outside,
  serviceSearchPath: string | undefined,
): Promise<Check[]> {
  const { found, checks } = await withHarnesses(
    settings,
    outside,
    async (found) => ({
      found,
      checks: (await Promise.all(found.map(checksOf))).flat(),
    }),
  );
  return [
    ...checks,
    ...(found.some((harness) => harness.available) ? [] : [warn(
      "harnesses",
      "none is available: the daemon would run, but serve no Turn",
      "install one, such as: npm install -g @openai/codex",
    )]),
    await servicePathCheck(settings, outside, found, serviceSearchPath),
    ...TOOLS.map((tool) => toolCheck(tool, outside)),
  ];
}

/** The program, and what its adapter sees when it looks closer. */
async function checksOf(harness: DiscoveredHarness): Promise<Check[]> {
  const findings = await harness.inspect?.() ?? [];
  return [
    programCheck(harness),
    ...findings.map(({ subject, result, found, remedy }): Check => ({
      name: `${subject} of ${harness.kind}`,
      result,
      found,
      ...(remedy === undefined ? {} : { remedy }),
    })),
  ];
}

function programCheck(harness: DiscoveredHarness): Check {
  const name = `harness ${harness.kind}`;
  if (!harness.available) {
    return warn(
      name,
      harness.reason ?? "not available",
      "install it, or name it in the configuration; off hides it",
    );
  }
  const text = `${harness.version ?? "version unknown"} at ${
    harness.program ?? "an unknown place"
  }`;
  return harness.reason === undefined
    ? ok(name, text)
    : warn(name, text, harness.reason);
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false; // not there, or not readable for us
  }
}

/** A service gets another search path than a shell; each program must be found by both. */
async function servicePathCheck(
  settings: Settings,
  outside: Outside,
  found: readonly DiscoveredHarness[],
  searchPath: string | undefined,
): Promise<Check> {
  const name = "service search path";
  if (searchPath === undefined) return skip(name, "no service is installed");
  const environment = { ...outside.environment, PATH: searchPath };
  const seen = await lookForHarnesses(settings, { ...outside, environment });
  const lost = found.filter((harness) =>
    harness.available &&
    seen.find((each) => each.kind === harness.kind)?.program !==
      harness.program
  );
  return lost.length === 0
    ? ok(name, "finds the same programs as this shell")
    : warn(
      name,
      `does not find ${
        lost.map((harness) => harness.kind).join(", ")
      } where this shell does`,
      "run: agent-daemon service install",
    );
}

function toolCheck(tool: string, outside: Outside): Check {
  const separator = outside.operatingSystem === "windows" ? ";" : ":";
  const suffix = outside.operatingSystem === "windows" ? ".exe" : "";
  const directory = (outside.environment.PATH ?? "").split(separator)
    .find((each) => each !== "" && exists(join(each, `${tool}${suffix}`)));
  return directory === undefined
    ? warn(`tool ${tool}`, "not on PATH", `install ${tool} if tools need it`)
    : ok(`tool ${tool}`, join(directory, `${tool}${suffix}`));
}
