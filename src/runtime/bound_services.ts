// Owns the list of services that a bound daemon adds to its routers.
import type { PinnedRoot } from "../workspace/root.ts";
import type { WorkspaceWriter } from "../workspace/writer.ts";
import { type ApplyStep, runtimePreparations } from "./runtime_preparations.ts";
import type { RuntimeServiceFactory } from "./service_host.ts";
import { workspaceExports } from "./workspace_exports.ts";
import { workspaceReads } from "./workspace_reads.ts";
import { workspaceWrites } from "./workspace_writes.ts";

/** The one Environment and Session this daemon serves. */
export interface BoundIdentity {
  readonly environmentId: string;
  readonly sessionId: string;
}

/** What the services of a bound daemon work on. */
export interface BoundParts {
  readonly identity: BoundIdentity;
  readonly workspace: PinnedRoot;
  /** Shared by all connections of the process: an uncertain write outlives its connection. */
  readonly writer: WorkspaceWriter;
  readonly applyStep: ApplyStep;
}

/** Everything beside execution that a bound daemon serves. */
export function boundServices(
  parts: BoundParts,
): readonly RuntimeServiceFactory[] {
  const { identity, workspace, writer, applyStep } = parts;
  return [
    workspaceReads(workspace),
    workspaceWrites(identity, writer),
    workspaceExports(identity, workspace),
    runtimePreparations(identity, applyStep),
  ];
}
