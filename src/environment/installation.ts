/**
 * What initialization may do to a bound Environment: install packages, place files, run setup, seal
 * the selection. Once the completion mark stands, every action but the same finalization is refused.
 */
import type { SpawnChild } from "../harness/child.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { RuntimePrepareBegin } from "../protocol/runtime_prepare.ts";
import type { CapabilitySources } from "../protocol/sources.ts";
import type { TransferBody } from "../transfer/body.ts";
import type { Applied } from "../transfer/exchange.ts";
import type { Directory } from "../workspace/directory.ts";
import { logicalComponents } from "../workspace/path.ts";
import type { DirectoryAccess, PinnedRoot } from "../workspace/root.ts";
import type { WorkspaceWriter } from "../workspace/writer.ts";
import { readArchive } from "./archive.ts";
import { CompletionMarker } from "./completion_marker.ts";
import {
  InvalidPackage,
  PACKAGE_BOUNDS,
  type PackageFile,
} from "./package_files.ts";
import { writePackage } from "./package_store.ts";
import { readPlugin } from "./plugin_manifest.ts";
import type { BindingIdentity } from "./selection.ts";
import { runInitialization } from "./initialization.ts";
import { findSkills, SKILL_FILE } from "./skill_manifest.ts";
import { hasSelection } from "./installed_manifest.ts";
import { loadSelection, sealSelection } from "./snapshot.ts";
import type { ToolEnvironmentPlaces } from "./tool_environment.ts";

/** Why a preparation step failed for certain. */
export interface StepFailure {
  /** Of the setup process, 1 to 255. */
  readonly exitCode?: number;
}

/** How a preparation step ended; `completed` carries nothing. */
export type StepOutcome = Applied<undefined, StepFailure>;

/** The parts an installation works with. */
export interface InstallationParts {
  readonly identity: BindingIdentity;
  readonly workspace: PinnedRoot;
  readonly writer: WorkspaceWriter;
  /** The private root of packages. */
  readonly capabilities: PinnedRoot;
  readonly markerDirectory: string;
  readonly tools: ToolEnvironmentPlaces;
  readonly access: DirectoryAccess;
  readonly spawn: SpawnChild;
  readonly clock: Clock;
  readonly log: Log;
}

const COMPLETED: StepOutcome = { outcome: "completed", value: undefined };
const FAILED: StepOutcome = { outcome: "refused", value: {} };

/**
 * Carries out one committed step. Resolves when its own changes have stopped; an error of the
 * content is a failure, anything unexpected is `unknown`.
 */
export async function applyStep(
  parts: InstallationParts,
  begin: RuntimePrepareBegin,
  body: TransferBody,
  signal: AbortSignal,
): Promise<StepOutcome> {
  const { identity, capabilities, markerDirectory } = parts;
  let marker: CompletionMarker;
  try {
    marker = await CompletionMarker.open(
      markerDirectory,
      identity,
      capabilities.path,
    );
  } catch (error) {
    return failed(parts, error);
  }
  using held = marker;
  try {
    if (await held.isComplete()) return await repeated(parts, begin);
    return await carryOut(parts, held, begin, body, signal);
  } catch (error) {
    if (error instanceof InvalidPackage) return failed(parts, error);
    parts.log.error("environment.step_unknown", {
      action: begin.action,
      error: error instanceof Error ? error : String(error),
    });
    return { outcome: "unknown" };
  }
}

/** After the completion mark only the very selection that is sealed may be finalized again. */
async function repeated(
  parts: InstallationParts,
  begin: RuntimePrepareBegin,
): Promise<StepOutcome> {
  if (begin.action !== "finalize") return FAILED;
  await loadSelection(parts.capabilities, parts.identity, begin.sources);
  return COMPLETED;
}

async function carryOut(
  parts: InstallationParts,
  marker: CompletionMarker,
  begin: RuntimePrepareBegin,
  body: TransferBody,
  signal: AbortSignal,
): Promise<StepOutcome> {
  switch (begin.action) {
    case "skill": {
      const files = await skillFiles(body, begin.skill);
      refuseSealed(parts);
      await writePackage(
        parts.capabilities,
        ["skills", begin.skill.name],
        files,
      );
      return COMPLETED;
    }
    case "plugin": {
      const files = await filesOf(body);
      const plugin = readPlugin(files);
      if (
        plugin.name !== begin.plugin.name ||
        plugin.description !== begin.plugin.description
      ) throw new InvalidPackage("the plugin is not what was declared");
      refuseSealed(parts);
      const slot = String(begin.slot ?? 0);
      await writePackage(parts.capabilities, ["plugins", slot], files);
      return COMPLETED;
    }
    case "file":
      return await placeFile(parts, begin.file.path, body);
    case "initialize":
      return await runInitialization(parts, begin.initialization, signal);
    case "finalize":
      await seal(parts, marker, begin.sources);
      return COMPLETED;
  }
}

/** Seals the selection when it is not sealed yet, and sets the completion mark. */
export async function seal(
  parts: InstallationParts,
  marker: CompletionMarker,
  sources: CapabilitySources,
): Promise<void> {
  const directories: { directory: Directory }[] = [];
  try {
    for (const path of sources.directories ?? []) {
      directories.push({ directory: openSource(parts, path) });
    }
  } catch (error) {
    for (const { directory } of directories) directory.close();
    throw new InvalidPackage("a source directory cannot be used", {
      cause: error,
    });
  }
  await sealSelection(parts.capabilities, parts.identity, sources, directories);
  await marker.complete();
}

/** A source below the workspace is reached without links; one outside is the operator's choice. */
function openSource(parts: InstallationParts, path: string): Directory {
  const components = logicalComponents(path, parts.workspace.rules);
  const whole = components
    ? [parts.workspace.path, ...components].join("/")
    : Deno.realPathSync(path);
  const root = parts.capabilities.path;
  if (
    whole === root || whole.startsWith(`${root}/`) ||
    root.startsWith(`${whole}/`)
  ) throw new InvalidPackage("a source overlaps the capability root");
  return components
    ? parts.workspace.descend(components)
    : parts.access.open(whole);
}

function refuseSealed(parts: InstallationParts): void {
  if (hasSelection(parts.capabilities)) {
    throw new InvalidPackage("the selection is sealed");
  }
}

/** The files of an archive; one that is too long is never copied into one piece. */
async function filesOf(body: TransferBody): Promise<readonly PackageFile[]> {
  if (body.received > PACKAGE_BOUNDS.archiveBytes) {
    throw new InvalidPackage("the archive is too large");
  }
  return await readArchive(body.concatenated());
}

async function skillFiles(
  body: TransferBody,
  declared: { readonly name: string; readonly description: string },
): Promise<readonly PackageFile[]> {
  const files = await filesOf(body);
  const tops = files.filter((file) =>
    file.path.toLowerCase() === SKILL_FILE.toLowerCase()
  );
  const found = findSkills(tops, [""])[0];
  if (
    tops.length !== 1 || found?.manifest.name !== declared.name ||
    found.manifest.description !== declared.description
  ) throw new InvalidPackage("the Skill is not what was declared");
  return files.map((file) =>
    tops.includes(file) ? { ...file, path: SKILL_FILE } : file
  );
}

async function placeFile(
  parts: InstallationParts,
  path: string,
  body: TransferBody,
): Promise<StepOutcome> {
  const components = logicalComponents(path, parts.workspace.rules);
  if (!components?.length) return FAILED;
  const written = await parts.writer.write({
    components,
    chunks: body.chunks,
    mode: "replace",
  });
  switch (written.outcome) {
    case "completed":
      return COMPLETED;
    case "rejected":
      return FAILED;
    case "unknown":
      return { outcome: "unknown" };
  }
}

function failed(parts: InstallationParts, error: unknown): StepOutcome {
  parts.log.warn("environment.step_failed", {
    error: error instanceof Error ? error : String(error),
  });
  return FAILED;
}
