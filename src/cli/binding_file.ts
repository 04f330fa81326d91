/** `binding.json`: which Environment and Session this machine was enrolled for. No secrets. */
import { join } from "@std/path";
import { z } from "zod";
import { writeFileAtomically } from "../platform/atomic_file.ts";
import { Mistake } from "./mistake.ts";
import type { Outside } from "./outside.ts";
import { canonicalUuid, cleanAbsolutePath } from "./setting.ts";

/** The newest form this program writes; a newer one is refused instead of rewritten. */
const SCHEMA = 1;

const bindingDocument = z.strictObject({
  schema: z.literal(SCHEMA),
  core_url: z.string(),
  device_id: canonicalUuid,
  environment_id: canonicalUuid,
  session_id: canonicalUuid,
  /** As Core named it; `/workspace` stands for the local root. */
  workspace_directory: cleanAbsolutePath,
  /** The local root. */
  workspace: cleanAbsolutePath,
});

/** What an enrolment fixed. */
export type Binding = z.infer<typeof bindingDocument>;

/** The path of the binding in a state directory. */
export function bindingPath(stateDirectory: string): string {
  return join(stateDirectory, "binding.json");
}

/**
 * Reads the binding; `undefined` when this machine is not enrolled.
 *
 * @throws {Mistake} for a file that is damaged or of a newer version.
 */
export async function readBinding(
  stateDirectory: string,
): Promise<Binding | undefined> {
  const path = bindingPath(stateDirectory);
  let text: string;
  try {
    text = await Deno.readTextFile(path);
  } catch (error) {
    if (
      error instanceof Deno.errors.NotFound ||
      error instanceof Deno.errors.NotADirectory
    ) return undefined;
    throw mistake(path, "cannot be read", `check its owner: ls -l '${path}'`);
  }
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    throw mistake(path, "is damaged", "enrol this machine again");
  }
  const schema = z.object({ schema: z.number() }).safeParse(document);
  if (schema.success && schema.data.schema > SCHEMA) {
    throw mistake(
      path,
      "was written by a newer version",
      "run that version, see agent-daemon upgrade",
    );
  }
  const binding = bindingDocument.safeParse(document);
  if (!binding.success) {
    throw mistake(path, "is damaged", "enrol this machine again");
  }
  return binding.data;
}

/** Writes the binding as a whole. */
export async function writeBinding(
  stateDirectory: string,
  binding: Omit<Binding, "schema">,
  outside: Outside,
): Promise<void> {
  await writeFileAtomically(
    bindingPath(stateDirectory),
    `${JSON.stringify({ schema: SCHEMA, ...binding }, null, 2)}\n`,
    outside,
  );
}

function mistake(place: string, rule: string, fix: string): Mistake {
  return new Mistake({ place, rule, fix, exit: "configuration" });
}
