/** Claude Code as a Harness: finds the program, judges its version, prepares its Executors. */
import type {
  DiscoveredHarness,
  DiscoveryContext,
  ExecutorFactory,
  HarnessAdapter,
} from "../../src/harness/contract.ts";
import type { DeclarationSituation } from "../../src/harness/declared_fields.ts";
import { judgeVersion } from "../../src/harness/version.ts";
import type { CapabilityDeclaration } from "../../src/protocol/capabilities.ts";
import { checkClaudeConfiguration } from "./configuration.ts";
import { CLAUDE_VERSIONS, declareClaude } from "./declaration.ts";
import { locateClaude, probeClaude } from "./discovery.ts";
import { checkClaudeInput } from "./input.ts";
import { inspectClaude } from "./inspection.ts";
import { CLAUDE_KIND } from "./kind.ts";
import { prepareClaude, type Preparer } from "./preparation.ts";

/** See the file comment. */
export const claudeCodeAdapter: HarnessAdapter = {
  kind: CLAUDE_KIND,
  discover: discoverClaude,
};

async function discoverClaude(
  context: DiscoveryContext,
): Promise<DiscoveredHarness> {
  const location = await locateClaude(context);
  if (!location.found) return unavailable(context, location.reason);
  const { program } = location;
  const probe = await probeClaude(context, location);
  if (!probe.ok) return { ...unavailable(context, probe.reason), program };
  const { version } = probe;
  const verdict = judgeVersion(version, CLAUDE_VERSIONS);
  const { minimum, newestTested } = CLAUDE_VERSIONS;
  switch (verdict) {
    case "unreadable":
      return { ...unavailable(context, "It reports no version"), program };
    case "too_old": {
      const reason = `Claude Code ${version} is older than ${minimum}`;
      return { ...unavailable(context, reason), program, version };
    }
    case "newer":
    case "tested": {
      const reason =
        `Claude Code ${version} is newer than the tested ${newestTested}`;
      return {
        kind: CLAUDE_KIND,
        available: true,
        version,
        program,
        ...(verdict === "newer" ? { reason } : {}),
        declaration: declareIn(
          context,
          verdict === "tested" ? "tested" : "untested",
        ),
        factory: factory({ context, found: location }),
        inspect: () => inspectClaude(context, version),
      };
    }
  }
}

function factory(preparer: Preparer): ExecutorFactory {
  return {
    checkConfiguration: checkClaudeConfiguration,
    checkInput: (_configuration, input) => checkClaudeInput(input),
    prepare: (configuration, owner) =>
      prepareClaude(preparer, configuration, owner),
  };
}

function unavailable(
  context: DiscoveryContext,
  reason: string,
): DiscoveredHarness {
  return {
    kind: CLAUDE_KIND,
    available: false,
    reason,
    declaration: declareIn(context, "tested"),
  };
}

function declareIn(
  context: DiscoveryContext,
  version: DeclarationSituation["version"],
): CapabilityDeclaration {
  const { bound, permissions, operatingSystem } = context;
  return declareClaude({ bound, permissions, operatingSystem, version });
}
