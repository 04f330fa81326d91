import { assert, assertEquals } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { CAPABILITY_NAMES } from "../../../src/protocol/capabilities.ts";
import {
  CLAUDE_DECLARATION,
  declareClaude,
} from "../../../adapters/claude_code/declaration.ts";

const SUITE = fromFileUrl(new URL("../../native/claude_code", import.meta.url));

/** What is claimed besides the fields that are always claimed. */
const NEVER = ["subagent_observations", "web_search_control", "text_verbosity"];
const BOUND = [
  "local_environment",
  "workspace_read_preparation",
  "workspace_output_export",
];
const TESTED = ["native_session_recovery", "mcp_http_required"];

for (const bound of [true, false]) {
  for (const permissions of ["ask", "unattended"] as const) {
    for (const version of ["tested", "untested"] as const) {
      Deno.test(`the claims for bound ${bound}, ${permissions}, ${version} are exactly these`, () => {
        const declared = declareClaude({
          bound,
          permissions,
          operatingSystem: "linux",
          version,
        });
        const missing = CAPABILITY_NAMES.filter((name) =>
          declared[name] === "unsupported"
        );
        assertEquals(
          missing.toSorted(),
          [
            ...NEVER,
            ...(bound ? ["environment_none"] : BOUND),
            ...(permissions === "ask" ? [] : ["permissions"]),
            ...(version === "tested" ? [] : TESTED),
          ].toSorted(),
        );
      });
    }
  }
}

Deno.test("every claim has its native test, every refusal its reason and its test", async () => {
  const sources: string[] = [];
  for await (const entry of Deno.readDir(SUITE)) {
    if (entry.name.endsWith("_test.ts")) {
      sources.push(await Deno.readTextFile(join(SUITE, entry.name)));
    }
  }
  const proven = sources.flatMap((source) =>
    [...source.matchAll(/^proves\(\s*(\[[^\]]*\]|"\w+")/gm)].flatMap((
      [, list],
    ) => list?.match(/\w+/g) ?? [])
  );
  const refuted = sources.flatMap((source) =>
    [...source.matchAll(/^refutes\(\s*"(\w+)"/gm)].map(([, name]) => name)
  );
  for (const name of CAPABILITY_NAMES) {
    const { supported, reason } = CLAUDE_DECLARATION[name];
    const list = supported === "never" ? refuted : proven;
    assert(list.includes(name), name);
    assert(supported !== "never" || reason, name);
  }
});
