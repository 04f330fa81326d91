/**
 * The manifest of the installed selection: `installed.json` in the capability root, written last and
 * once. Its sealed presence means that the selection is complete.
 */
import * as z from "zod";
import { DescentError } from "../workspace/directory.ts";
import type { PinnedRoot } from "../workspace/root.ts";
import {
  InvalidPackage,
  manifestObject,
  PACKAGE_BOUNDS,
} from "./package_files.ts";
import { readSealedFile, writeSealedFile } from "./package_store.ts";

const MANIFEST = "installed.json";
/** Skills of one selection. */
export const MAXIMUM_SKILLS = 50;

/** Packages with MCP servers. */
const MAXIMUM_PLUGINS = 100;

const manifestShape = z.strictObject({
  identity: z.strictObject({
    environment_id: z.string(),
    session_id: z.string(),
  }),
  selection_sha256: z.string(),
  version: z.literal(1),
  skills: z.array(z.strictObject({
    metadata: z.strictObject({
      type: z.literal("inline"),
      name: z.string(),
      description: z.string(),
    }),
    relative_root: z.string(),
    package_root: z.string(),
  })).max(MAXIMUM_SKILLS),
  plugins: z.array(z.string()).max(MAXIMUM_PLUGINS),
});
/** What is installed, and for whom. */
export type Manifest = z.infer<typeof manifestShape>;

/** Whether a sealed selection exists. */
export function hasSelection(root: PinnedRoot): boolean {
  const top = root.open();
  try {
    top.facts(MANIFEST);
    return true;
  } catch (error) {
    if (error instanceof DescentError && error.problem === "missing") {
      return false;
    }
    throw error;
  } finally {
    top.close();
  }
}

/**
 * Reads the manifest.
 *
 * @throws {InvalidPackage} when there is none or it is no sealed one.
 */
export async function readManifest(root: PinnedRoot): Promise<Manifest> {
  const top = root.open();
  try {
    const file = await readSealedFile(top, MANIFEST);
    const parsed = manifestShape.safeParse(manifestObject(file));
    if (parsed.success) return parsed.data;
  } catch (error) {
    throw new InvalidPackage("no selection is installed", { cause: error });
  } finally {
    top.close();
  }
  throw new InvalidPackage("the selection's manifest is wrong");
}

/** Publishes the manifest sealed, in one step, and makes it durable. */
export async function publishManifest(
  root: PinnedRoot,
  manifest: Manifest,
): Promise<void> {
  const data = new TextEncoder().encode(`${JSON.stringify(manifest)}\n`);
  if (data.length > PACKAGE_BOUNDS.manifestBytes) {
    throw new InvalidPackage("the selection's manifest is too large");
  }
  const temporary = `${MANIFEST}.tmp`;
  const top = root.open();
  try {
    await writeSealedFile(top, temporary, {
      path: MANIFEST,
      data,
      executable: false,
    });
    top.rename(temporary, MANIFEST);
    await top.sync();
  } finally {
    top.close();
  }
}
