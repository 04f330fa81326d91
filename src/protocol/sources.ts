// Owns the selection of installed capabilities: skills, plugins and directories. The same shape
// finishes an initialization and names what an execution expects to be installed.
import * as z from "zod";
import { MAX_PATH_BYTES, MAX_SOURCES } from "./limits.ts";
import { isPortableAbsolutePath } from "./paths.ts";
import { fitsUtf8, isWellFormed } from "./text.ts";
import { list, omitted, text, type Wire, wireObject } from "./wire_object.ts";

/** Schema of a skill's or plugin's metadata. */
export const capabilityMetadataWire = wireObject({
  type: text,
  name: text,
  description: text,
});
/** What a skill or plugin is called and for. `type` is `inline`. */
export type CapabilityMetadata = Wire<typeof capabilityMetadataWire>;

/** Schema of a capability selection. */
export const capabilitySourcesWire = wireObject({
  skills: omitted(list(capabilityMetadataWire)),
  plugins: omitted(list(capabilityMetadataWire)),
  directories: omitted(list(z.string())),
});
/** A capability selection. `{}` selects nothing; the order of plugins is their slot number. */
export type CapabilitySources = Wire<typeof capabilitySourcesWire>;

/** Whether the metadata is inline and names itself. Installation has a stricter grammar. */
export function isCapabilityMetadata(metadata: CapabilityMetadata): boolean {
  return metadata.type === "inline" && metadata.name !== "" &&
    metadata.description !== "" && isWellFormed(metadata.name) &&
    isWellFormed(metadata.description);
}

/** Whether the selection keeps its counts, its metadata and its directory spelling. */
export function isCapabilitySelection(sources: CapabilitySources): boolean {
  const { skills = [], plugins = [], directories = [] } = sources;
  return skills.length <= MAX_SOURCES && plugins.length <= MAX_SOURCES &&
    directories.length <= MAX_SOURCES &&
    skills.every(isCapabilityMetadata) && plugins.every(isCapabilityMetadata) &&
    new Set(directories).size === directories.length &&
    directories.every((directory) =>
      fitsUtf8(directory, MAX_PATH_BYTES) && isPortableAbsolutePath(directory)
    );
}
