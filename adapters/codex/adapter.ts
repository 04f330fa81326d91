/** The Codex adapter: finds the program, judges its version, declares what it can honestly do. */
import type {
  DiscoveredHarness,
  DiscoveryContext,
  ExecutorFactory,
  HarnessAdapter,
} from "../../src/harness/contract.ts";
import { locateProgram } from "../../src/harness/discovery.ts";
import { judgeVersion, readVersion } from "../../src/harness/version.ts";
import {
  LoginShellPath,
  probeVersion,
} from "../../src/harness/version_probe.ts";
import { CODEX_VERSIONS, declareCodex } from "./declaration.ts";
import { checkNativeInput } from "./input.ts";
import { CODEX_LIMITS, type CodexLimits } from "./limits.ts";
import { inspectCodex } from "./inspection.ts";
import { nativeBinary } from "./native_binary.ts";
import { checkConfiguration } from "./checks.ts";
import { type PreparationContext, prepareExecutor } from "./prepare.ts";

const KIND = "codex";

/** An adapter with other bounds; production uses {@linkcode codexAdapter}. */
export function createCodexAdapter(limits: CodexLimits): HarnessAdapter {
  return { kind: KIND, discover: (context) => discover(context, limits) };
}

/** The adapter of the wire kind `codex`. */
export const codexAdapter: HarnessAdapter = createCodexAdapter(CODEX_LIMITS);

async function discover(
  context: DiscoveryContext,
  limits: CodexLimits,
): Promise<DiscoveredHarness> {
  const loginShell = new LoginShellPath(context);
  const located = await locateProgram({
    name: "codex",
    ...(context.program === undefined ? {} : { program: context.program }),
    environment: context.environment,
    operatingSystem: context.operatingSystem,
    loginShellPath: () => loginShell.read(),
  });
  if (!located.found) return unavailable(context, located.reason);
  const script = located.leadingArguments[0] ?? located.program;
  const native = await nativeBinary(
    script,
    context.operatingSystem,
    Deno.build.arch,
  );
  const program = native ?? located.program;
  const leadingArguments = native ? [] : located.leadingArguments;
  const pathPrefix = native ? [] : [located.directory];
  const probe = await probeVersion(context, {
    program,
    arguments: [...leadingArguments, "--version"],
    workingDirectory: context.stateDirectory,
    pathPrefix,
  });
  if (!probe.ok) return unavailable(context, probe.reason, program);
  const version = readVersion(probe.line)?.numbers.join(".");
  const verdict = judgeVersion(probe.line, CODEX_VERSIONS);
  if (version === undefined || verdict === "unreadable") {
    return unavailable(context, "The version line is unreadable", program);
  }
  if (verdict === "too_old") {
    const reason =
      `Codex ${version} is older than ${CODEX_VERSIONS.minimum}; update it`;
    return { ...unavailable(context, reason, program), version };
  }
  const newer = verdict === "newer";
  if (newer) context.log.warn("codex.version.untested", { version });
  return {
    kind: KIND,
    available: true,
    version,
    program,
    ...(newer
      ? {
        reason:
          `Codex ${version} is newer than the tested ${CODEX_VERSIONS.newestTested}`,
      }
      : {}),
    declaration: declareCodex({
      ...context,
      version: newer ? "untested" : "tested",
    }),
    factory: factoryOf({
      ...context,
      program,
      leadingArguments,
      pathPrefix,
      limits,
    }),
    inspect: () =>
      inspectCodex(context, { program, leadingArguments, pathPrefix, version }),
  };
}

function unavailable(
  context: DiscoveryContext,
  reason: string,
  program?: string,
): DiscoveredHarness {
  return {
    kind: KIND,
    available: false,
    reason,
    ...(program === undefined ? {} : { program }),
    declaration: declareCodex({ ...context, version: "untested" }),
  };
}

function factoryOf(context: PreparationContext): ExecutorFactory {
  return {
    checkConfiguration,
    checkInput: (_configuration, input) => checkNativeInput(input),
    async prepare(configuration, owner) {
      const refusal = checkConfiguration(configuration);
      if (refusal) throw new Error(refusal.reason);
      return await prepareExecutor(context, configuration, owner);
    },
  };
}
