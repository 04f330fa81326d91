/** Claude Code as a Harness: finds the program, judges its version, prepares its Executors. */
import type {
  DiscoveredHarness,
  DiscoveryContext,
  ExecutorFactory,
  HarnessAdapter,
} from "../../src/harness/contract.ts";
import { checkClaudeConfiguration } from "./configuration.ts";
import { claudeDeclaration } from "./declaration.ts";
import { findClaude, probeClaude } from "./discovery.ts";
import { checkClaudeInput } from "./input.ts";
import { CLAUDE_KIND } from "./kind.ts";
import { prepareClaude, type Preparer } from "./preparation.ts";
import {
  judgeVersion,
  MINIMUM_VERSION,
  NEWEST_TESTED_VERSION,
} from "./version.ts";

/** See the file comment. */
export const claudeCodeAdapter: HarnessAdapter = {
  kind: CLAUDE_KIND,
  discover: discoverClaude,
};

async function discoverClaude(
  context: DiscoveryContext,
): Promise<DiscoveredHarness> {
  const found = await findClaude(context);
  if (!found.ok) return unavailable(context, found.reason);
  const { program } = found;
  const probe = await probeClaude(context, program);
  if (!probe.ok) return { ...unavailable(context, probe.reason), program };
  const { version } = probe;
  const verdict = judgeVersion(version);
  switch (verdict) {
    case "unreadable":
      return {
        ...unavailable(context, "The program reports no version"),
        program,
      };
    case "too_old":
      return {
        ...unavailable(
          context,
          `Claude Code ${version} is older than ${MINIMUM_VERSION}`,
        ),
        program,
        version,
      };
    case "tested":
    case "newer":
      return {
        kind: CLAUDE_KIND,
        available: true,
        version,
        program,
        ...(verdict === "newer"
          ? {
            reason:
              `Claude Code ${version} is newer than the tested ${NEWEST_TESTED_VERSION}`,
          }
          : {}),
        declaration: declare(context, verdict === "tested"),
        factory: factory({
          context,
          program,
          occupied: new Set(),
        }),
      };
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
    declaration: declare(context, true),
  };
}

function declare(context: DiscoveryContext, testedVersion: boolean) {
  const { bound, permissions, operatingSystem } = context;
  return claudeDeclaration({
    bound,
    permissions,
    operatingSystem,
    testedVersion,
  });
}
