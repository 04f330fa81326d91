/**
 * The installed selection and what it lets a Harness use. Each load judges the packages on disk again; nothing is taken from memory.
 */
import type { CapabilitySources } from "../protocol/sources.ts";
import type { Directory } from "../workspace/directory.ts";
import type { PinnedRoot } from "../workspace/root.ts";
import {
  hasSelection,
  type Manifest,
  MAXIMUM_SKILLS,
  publishManifest,
  readManifest,
} from "./installed_manifest.ts";
import { InvalidPackage, type PackageFile } from "./package_files.ts";
import { readPackage, writePackage } from "./package_store.ts";
import {
  PLUGIN_FILE,
  type PluginServer,
  readPlugin,
} from "./plugin_manifest.ts";
import { type BindingIdentity, selectionDigest } from "./selection.ts";
import { findSkills } from "./skill_manifest.ts";

/** Bytes of all packages together. */
const SNAPSHOT_BYTES = 50 * 1024 * 1024;
/** One installed package and what it offers. */
interface Package {
  /** Relative to the capability root. */
  readonly root: string;
  readonly files: readonly PackageFile[];
}

/** One MCP server of an installed plugin. */
export interface InstalledServer {
  /** The plugin's directory, relative to the capability root. */
  readonly packageRoot: string;
  readonly server: PluginServer;
}

/** What an execution may use of the installed selection. */
export interface InstalledCapabilities {
  /** Directories of Skills, relative to the capability root. */
  readonly skillRoots: readonly string[];
  readonly servers: readonly InstalledServer[];
}

/** A directory source that finalizing captures, already opened by its owner. */
export interface DirectorySource {
  readonly directory: Directory;
}

/**
 * Seals the selection: judges every package, captures the directory sources, and publishes the
 * manifest. Takes over the sources and closes them.
 *
 * @throws {InvalidPackage} when what is installed is not exactly what is selected.
 */
export async function sealSelection(
  root: PinnedRoot,
  identity: BindingIdentity,
  sources: CapabilitySources,
  directories: readonly DirectorySource[],
): Promise<void> {
  if (hasSelection(root)) {
    throw new InvalidPackage("the selection is sealed already");
  }
  await checkLeftovers(root, sources);
  for (const [slot, source] of directories.entries()) {
    const files = await readPackage(source.directory, { files: "any" });
    await writePackage(root, ["directories", String(slot)], files);
  }
  const packages = await installedPackages(root, sources);
  await publishManifest(root, describe(packages, identity, sources));
}

/**
 * Loads the sealed selection for an execution that names the same one.
 *
 * @throws {InvalidPackage} when it is missing, altered or another one.
 */
export async function loadSelection(
  root: PinnedRoot,
  identity: BindingIdentity,
  sources: CapabilitySources,
): Promise<InstalledCapabilities> {
  const manifest = await readManifest(root);
  if (
    manifest.identity.environment_id !== identity.environmentId ||
    manifest.identity.session_id !== identity.sessionId ||
    manifest.selection_sha256 !== selectionDigest(sources)
  ) throw new InvalidPackage("another selection is installed");
  const packages = await installedPackages(root, sources);
  const expected = describe(packages, identity, sources);
  if (JSON.stringify(expected) !== JSON.stringify(manifest)) {
    throw new InvalidPackage("the installed packages were altered");
  }
  return {
    skillRoots: manifest.skills.map((skill) => skill.relative_root),
    servers: packages.flatMap((one) =>
      isPlugin(one)
        ? readPlugin(one.files).servers.map((server) => ({
          packageRoot: one.root,
          server,
        }))
        : []
    ),
  };
}

/**
 * The files of one installed plugin that declares servers.
 *
 * @throws {InvalidPackage} when the sealed selection names no such plugin.
 */
export async function readInstalledPackage(
  root: PinnedRoot,
  packageRoot: string,
): Promise<readonly PackageFile[]> {
  const { plugins } = await readManifest(root);
  if (!plugins.includes(packageRoot)) {
    throw new InvalidPackage("no such plugin is installed");
  }
  const directory = openPackage(root, packageRoot.split("/"));
  return await readPackage(directory, { files: "sealed" });
}

/** The packages in the order of the selection: skills, plugin slots, captured directories. */
async function installedPackages(
  root: PinnedRoot,
  sources: CapabilitySources,
): Promise<readonly Package[]> {
  const roots = [
    ...(sources.skills ?? []).map((skill) => ["skills", skill.name]),
    ...(sources.plugins ?? []).map((
      _plugin,
      slot,
    ) => ["plugins", String(slot)]),
    ...(sources.directories ?? []).map((
      _path,
      slot,
    ) => ["directories", String(slot)]),
  ];
  const packages: Package[] = [];
  let total = 0;
  for (const components of roots) {
    const directory = openPackage(root, components);
    const files = [...await readPackage(directory, { files: "sealed" })]
      .sort((left, right) => left.path < right.path ? -1 : 1);
    total += files.reduce((sum, file) => sum + file.data.length, 0);
    if (total > SNAPSHOT_BYTES) {
      throw new InvalidPackage("the selection is too large");
    }
    packages.push({ root: components.join("/"), files });
  }
  return packages;
}

function openPackage(
  root: PinnedRoot,
  components: readonly string[],
): Directory {
  try {
    return root.descend(components);
  } catch (error) {
    throw new InvalidPackage("a selected package is missing", { cause: error });
  }
}

function isPlugin(one: Package): boolean {
  return one.root.startsWith("plugins/") ||
    (one.root.startsWith("directories/") &&
      one.files.some((file) => file.path === PLUGIN_FILE));
}

/** What the packages offer, checked against what was selected. */
function describe(
  packages: readonly Package[],
  identity: BindingIdentity,
  sources: CapabilitySources,
): Manifest {
  const skills: Manifest["skills"] = [];
  const plugins: string[] = [];
  for (const [index, one] of packages.entries()) {
    const found = isPlugin(one)
      ? describePlugin(one, sources, plugins)
      : describeSkills(one, sources.skills?.[index]);
    for (const { directory, manifest } of found) {
      skills.push({
        metadata: { type: "inline", ...manifest },
        relative_root: directory === "" ? one.root : `${one.root}/${directory}`,
        package_root: one.root,
      });
    }
  }
  const names = new Set(skills.map((skill) => skill.metadata.name));
  if (names.size !== skills.length || skills.length > MAXIMUM_SKILLS) {
    throw new InvalidPackage("the selection's Skills are ambiguous");
  }
  return {
    identity: {
      environment_id: identity.environmentId,
      session_id: identity.sessionId,
    },
    selection_sha256: selectionDigest(sources),
    version: 1,
    skills,
    plugins,
  };
}

type Metadata = NonNullable<CapabilitySources["skills"]>[number];

function describeSkills(one: Package, declared: Metadata | undefined) {
  const isCaptured = one.root.startsWith("directories/");
  const found = findSkills(one.files, [""]);
  const top = found.filter((skill) => skill.directory === "");
  const usable = isCaptured ? found : top;
  if (usable.length === 0 || (!isCaptured && usable.length !== 1)) {
    throw new InvalidPackage("a package holds no Skill");
  }
  if (!isCaptured) checkMetadata(usable[0]?.manifest, declared);
  return usable;
}

function describePlugin(
  one: Package,
  sources: CapabilitySources,
  plugins: string[],
) {
  const plugin = readPlugin(one.files);
  if (one.root.startsWith("plugins/")) {
    const slot = Number(one.root.slice("plugins/".length));
    checkMetadata(plugin, sources.plugins?.[slot]);
  }
  if (plugin.servers.length > 0) plugins.push(one.root);
  return plugin.skills;
}

function checkMetadata(
  found: { readonly name: string; readonly description: string } | undefined,
  declared: Metadata | undefined,
): void {
  if (
    !found || declared?.name !== found.name ||
    declared.description !== found.description
  ) throw new InvalidPackage("a package is not what was declared");
}

/** Refuses anything in the root that the selection does not name. */
async function checkLeftovers(
  root: PinnedRoot,
  sources: CapabilitySources,
): Promise<void> {
  const expected: Readonly<Record<string, ReadonlySet<string>>> = {
    skills: new Set((sources.skills ?? []).map((skill) => skill.name)),
    plugins: new Set(
      (sources.plugins ?? []).map((_plugin, slot) => String(slot)),
    ),
  };
  const top = root.open();
  try {
    for await (const name of top.names()) {
      const selected = expected[name];
      if (!selected) throw new InvalidPackage("something else is installed");
      const child = top.child(name);
      try {
        for await (const entry of child.names()) {
          if (!selected.has(entry)) {
            throw new InvalidPackage("something else is installed");
          }
        }
      } finally {
        child.close();
      }
    }
  } finally {
    top.close();
  }
}
