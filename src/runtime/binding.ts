// Owns the seam to the workspace a daemon is bound to. Without one the router is unbound: it serves
// no local Environment and no workspace.
import type { McpBinding, PreparedEnvironment } from "../harness/contract.ts";
import type { LocalEnvironment } from "../protocol/configuration.ts";
import type { ReadOnlyResource } from "./admission.ts";

/** A local Environment as it is now: resolved at once, without waiting. */
export interface ResolvedEnvironment {
  readonly environment: Extract<PreparedEnvironment, { kind: "local" }>;
  /** Installed MCP servers, origin `environment`. Hold secrets. */
  readonly mcpServers: readonly McpBinding[];
  /** Changes whenever any of the above does; part of the Executor's fingerprint. */
  readonly fingerprint: string;
}

/** Why a descriptor is refused. */
export type BindingRefusal =
  | "invalid_configuration"
  | "unsupported_configuration"
  | "resource_unavailable";

/** The one workspace of this daemon. */
export interface WorkspaceBinding {
  /** Judges a descriptor of a request and resolves it. Pure, no waiting. */
  resolve(
    environment: LocalEnvironment,
    sessionId: string,
  ):
    | { readonly ok: true; readonly value: ResolvedEnvironment }
    | { readonly ok: false; readonly code: BindingRefusal };
  /**
   * Verifies the workspace right before a native preparation.
   *
   * @throws when it is not usable: the preparation fails, nothing native was started.
   */
  prepare(signal: AbortSignal): Promise<void>;
  /**
   * Opens local read access. `resource` beside an error must be closed by the receiver.
   * Returns instead of throwing, because both can be true at once.
   */
  openReadOnly(signal: AbortSignal): Promise<{
    readonly resource?: ReadOnlyResource;
    readonly error?: Error;
  }>;
}
