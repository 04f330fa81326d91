/** A closer look at an installed program. Asks no model and opens no secret. */
import { join } from "@std/path";
import type { DiscoveryContext } from "../../src/harness/contract.ts";
import { type Finding, loginFinding } from "../../src/harness/finding.ts";
import { CLAUDE_VERSIONS } from "./declaration.ts";

/** All findings. */
export async function inspectClaude(
  context: DiscoveryContext,
  version: string,
): Promise<readonly Finding[]> {
  const { HOME, CLAUDE_CONFIG_DIR } = context.environment;
  const files = CLAUDE_CONFIG_DIR !== undefined
    ? [join(CLAUDE_CONFIG_DIR, ".credentials.json")]
    : HOME === undefined
    ? []
    : [join(HOME, ".claude", ".credentials.json"), join(HOME, ".claude.json")];
  return [
    {
      subject: "schema",
      result: "skip",
      found:
        `this program writes no schema of its protocol; ${version} answered the first request, tested up to ${CLAUDE_VERSIONS.newestTested}`,
    },
    await loginFinding(files),
  ];
}
