/** The declaration against its proofs: every yes names a test that exists in this suite. */
import { assert, assertEquals } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import {
  CODEX_DECLARATION,
  CODEX_VERSIONS,
} from "../../../adapters/codex/mod.ts";
import { declareCodex } from "../../../adapters/codex/declaration.ts";
import {
  CAPABILITY_NAMES,
  validateDeclaration,
} from "../../../src/protocol/capabilities.ts";
import { CodexRig } from "../../support/responses_rig.ts";

const folder = fromFileUrl(new URL(".", import.meta.url));

async function testNames(): Promise<Set<string>> {
  const names = new Set<string>();
  for await (const entry of Deno.readDir(folder)) {
    if (!entry.name.endsWith("_test.ts")) continue;
    const text = await Deno.readTextFile(join(folder, entry.name));
    for (
      const [, name] of text.matchAll(/^\s*(?:Deno\.test\(|\? )"([^"]+)"/gm)
    ) {
      if (name !== undefined) names.add(name);
    }
  }
  return names;
}

Deno.test("every declared capability names a native test, every refusal a reason", async () => {
  const names = await testNames();
  for (const field of CAPABILITY_NAMES) {
    const { supported, provenBy, reason } = CODEX_DECLARATION[field];
    if (supported === "never") {
      assert(reason !== undefined && reason !== "", field);
      assertEquals(provenBy, undefined, field);
    } else {
      assert(
        provenBy !== undefined && names.has(provenBy),
        `${field}: ${provenBy}`,
      );
    }
  }
});

Deno.test("the real program is inside the tested range and declares what the table says", async () => {
  await using rig = await CodexRig.start({ bound: true, permissions: "ask" });
  assertEquals(rig.harness.version, CODEX_VERSIONS.newestTested);
  assertEquals(validateDeclaration(rig.harness.declaration).ok, true);
  assertEquals(
    rig.harness.declaration,
    declareCodex({
      bound: true,
      permissions: "ask",
      operatingSystem: "linux",
      version: "tested",
    }),
  );
});
