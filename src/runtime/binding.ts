// Owns the seam to the workspace a daemon is bound to. Without one the router is unbound: it serves
// no local Environment and no workspace.
import type { McpBinding, PreparedEnvironment } from "../harness/contract.ts";
import type { LocalEnvironment } from "../protocol/configuration.ts";
import type { ReadOnlyResource } from "./admission.ts";

/** What was installed for an accepted Environment. */
export interface InstalledEnvironment {
  readonly environment: Extract<PreparedEnvironment, { kind: "local" }>;
  /** Installed MCP servers, origin `environment`. Hold secrets. */
  readonly mcpServers: readonly McpBinding[];
}

/** A descriptor that was accepted at once; what was installed for it is gathered later. */
export interface AcceptedEnvironment {
  /** The bound directory, as an adapter judges it before anything was gathered. */
  readonly workspaceRoot: string;
  /** Changes whenever another Executor is needed; part of the Executor's fingerprint. */
  readonly fingerprint: string;
  /**
   * Verifies the workspace and gathers what was installed, right before a native preparation.
   *
   * @throws when it is not usable: the preparation fails, nothing native was started.
   */
  prepare(signal: AbortSignal): Promise<InstalledEnvironment>;
}

/** Why a descriptor is refused. */
export type BindingRefusal =
  | "invalid_configuration"
  | "unsupported_configuration"
  | "resource_unavailable";

/** The judgement of a descriptor. */
export type BindingJudgement =
  | { readonly ok: true; readonly value: AcceptedEnvironment }
  | { readonly ok: false; readonly code: BindingRefusal };

/** The one workspace of this daemon. */
export interface WorkspaceBinding {
  /** Judges the descriptor of an execution. Pure, no waiting. */
  resolve(environment: LocalEnvironment, sessionId: string): BindingJudgement;
  /** Judges the descriptor of the read-only profile. Pure, no waiting. */
  refuseReadOnly(
    environment: LocalEnvironment,
    stateKey: string,
  ): BindingRefusal | undefined;
  /**
   * Opens local read access. `resource` beside an error must be closed by the receiver.
   * Returns instead of throwing, because both can be true at once.
   */
  openReadOnly(signal: AbortSignal): Promise<{
    readonly resource?: ReadOnlyResource;
    readonly error?: Error;
  }>;
}
