/** The identity of an installed selection: who it is for, and a digest of what was selected. */
import { createHash } from "node:crypto";
import type { CapabilitySources } from "../protocol/sources.ts";

/** The one Environment and Session a daemon is bound to. */
export interface BindingIdentity {
  readonly environmentId: string;
  readonly sessionId: string;
}

/**
 * SHA-256 of a selection, as hex. Member and list order are fixed, empty lists do not count, so
 * that two spellings of one selection agree.
 */
export function selectionDigest(sources: CapabilitySources): string {
  const canonical: Record<string, unknown> = {};
  for (const list of ["skills", "plugins"] as const) {
    const metadata = sources[list] ?? [];
    if (metadata.length > 0) {
      canonical[list] = metadata.map(({ type, name, description }) => ({
        type,
        name,
        description,
      }));
    }
  }
  const directories = sources.directories ?? [];
  if (directories.length > 0) canonical["directories"] = directories;
  return createHash("sha256").update(JSON.stringify(canonical)).digest("hex");
}
