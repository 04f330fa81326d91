/**
 * Makes `docs/capabilities.md` from the declarations of both adapters. Run it to write the page:
 * `deno task docs`.
 */
import { fromFileUrl } from "@std/path";
import {
  CODEX_DECLARATION,
  CODEX_VERSIONS,
} from "../../adapters/codex/declaration.ts";
import {
  CLAUDE_DECLARATION,
  CLAUDE_VERSIONS,
} from "../../adapters/claude_code/declaration.ts";
import type {
  Condition,
  DeclaredField,
  DeclaredFields,
} from "../../src/harness/declared_fields.ts";
import { CAPABILITY_NAMES } from "../../src/protocol/capabilities.ts";

const CONDITIONS: Readonly<Record<Condition, string>> = {
  bound: "bound to a workspace",
  unbound: "not bound to a workspace",
  ask: "`permissions: ask`",
  not_windows: "not on Windows",
  tested_version: "a tested version",
};

/** The two adapters whose native tests live in folders of the same name. */
export const DECLARATIONS: readonly {
  readonly kind: string;
  readonly folder: string;
  readonly versions: {
    readonly minimum: string;
    readonly newestTested: string;
  };
  readonly rows: DeclaredFields;
}[] = [
  {
    kind: "codex",
    folder: "codex",
    versions: CODEX_VERSIONS,
    rows: CODEX_DECLARATION,
  },
  {
    kind: "claude_sdk",
    folder: "claude_code",
    versions: CLAUDE_VERSIONS,
    rows: CLAUDE_DECLARATION,
  },
];

/** The page. Pipes in texts are escaped for the table. */
export function capabilitiesPage(): string {
  const lines = [
    "# Capabilities",
    "",
    "What each Harness declares in the heartbeat, and the native test that fails when the declaration is",
    "a lie. Generated from `adapters/*/declaration.ts` by `deno task docs`; a test compares it.",
    "",
    "A field with a condition is `true` only while the condition holds. Below the minimum version the kind",
    "is declared with `available: false` and the same fields.",
    "",
  ];
  for (const { kind, folder, versions, rows } of DECLARATIONS) {
    lines.push(
      `## \`${kind}\``,
      "",
      `Minimum version ${versions.minimum}, tested up to ${versions.newestTested}. Tests in \`test/native/${folder}/\`.`,
      "",
      "| field | value | proved by, or why not |",
      "| --- | --- | --- |",
    );
    for (const name of CAPABILITY_NAMES) {
      const row = rows[name];
      lines.push(`| \`${name}\` | ${value(row)} | ${proof(row)} |`);
    }
    lines.push("");
  }
  return lines.join("\n");
}

function value({ supported }: DeclaredField): string {
  if (supported === "never") return "false";
  const conditions = supported.map((name) => CONDITIONS[name]);
  return conditions.length === 0
    ? "true"
    : `true if ${conditions.join(" and ")}`;
}

function proof({ provenBy, reason }: DeclaredField): string {
  const parts = [
    ...(provenBy === undefined ? [] : [`*${provenBy}*`]),
    ...(reason === undefined ? [] : [reason]),
  ];
  return parts.join(". ").replaceAll("|", "\\|");
}

/** Formats as the repository's formatter does, so that the page passes the format check. */
export async function formattedPage(): Promise<string> {
  const formatter = new Deno.Command(Deno.execPath(), {
    args: ["fmt", "--ext", "md", "-"],
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const writer = formatter.stdin.getWriter();
  await writer.write(new TextEncoder().encode(capabilitiesPage()));
  await writer.close();
  const { stdout } = await formatter.output();
  return new TextDecoder().decode(stdout);
}

if (import.meta.main) {
  const path = fromFileUrl(
    new URL("../../docs/capabilities.md", import.meta.url),
  );
  await Deno.writeTextFile(path, await formattedPage());
}
