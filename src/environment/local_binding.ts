/**
 * The one Environment, Session and workspace this daemon serves, chosen by the operator before any
 * request. It judges what a request says of the Environment, and gathers what was installed for it.
 */
import { isAbsolute, join } from "@std/path";
import type { McpBinding, PreparedEnvironment } from "../harness/contract.ts";
import type { LocalEnvironment } from "../protocol/configuration.ts";
import {
  type CapabilitySources,
  isCapabilitySelection,
} from "../protocol/sources.ts";
import { WORKSPACE_ALIAS } from "../workspace/path.ts";
import { CompletionMarker } from "./completion_marker.ts";
import { type InstallationParts, seal } from "./installation.ts";
import { type BindingIdentity, selectionDigest } from "./selection.ts";
import { hasSelection } from "./installed_manifest.ts";
import { type InstalledServer, loadSelection } from "./snapshot.ts";
import {
  configureToolEnvironment,
  loadToolEnvironment,
  type Variables,
} from "./tool_environment.ts";

/** Variables by which programs and modules are found. */
const SEARCH_PATHS = ["PATH", "PYTHONPATH"] as const;

/** Why a request's Environment is refused. */
export type EnvironmentRefusal =
  | "invalid_configuration"
  | "unsupported_configuration";

/** What an accepted Environment comes to when it is prepared. */
export interface InstalledEnvironment {
  readonly environment: Extract<PreparedEnvironment, { kind: "local" }>;
  /** Hold secrets. */
  readonly mcpServers: readonly McpBinding[];
}

/** The judgement of a request's Environment. */
export type EnvironmentJudgement =
  | { readonly ok: false; readonly code: EnvironmentRefusal }
  | {
    readonly ok: true;
    readonly value: {
      readonly workspaceRoot: string;
      /** Tells Environments apart whose Executors must not be exchanged. */
      readonly fingerprint: string;
      /**
       * Gathers what was installed, sealing an empty selection on the way.
       *
       * @throws when the workspace, the selection or the variables are not what was asked for.
       */
      prepare(signal: AbortSignal): Promise<InstalledEnvironment>;
    };
  };

/** An installed MCP server needs a variable that was never configured. */
export class InstalledServerError extends Error {
  override readonly name = "InstalledServerError";
}

/** How an installed stdio server is started: a program that becomes it, and its identity. */
export type ServerLauncher = (server: {
  readonly capabilityRoot: string;
  readonly packageRoot: string;
  readonly name: string;
}) => { readonly command: string; readonly arguments: readonly string[] };

/** What a binding is made of. */
export interface LocalBindingParts extends InstallationParts {
  readonly identity: BindingIdentity;
  readonly launcher: ServerLauncher;
}

/** See the file comment. */
export class LocalBinding {
  readonly #parts: LocalBindingParts;

  constructor(parts: LocalBindingParts) {
    this.#parts = parts;
  }

  /** Judges the Environment of an execution. Pure. */
  resolve(
    environment: LocalEnvironment,
    sessionId: string,
  ): EnvironmentJudgement {
    const code = this.#refusal(environment, sessionId);
    if (code !== undefined) return { ok: false, code };
    return {
      ok: true,
      value: {
        workspaceRoot: this.#parts.workspace.path,
        fingerprint: selectionDigest(environment.capability_sources ?? {}),
        prepare: (signal) => this.#prepare(environment, signal),
      },
    };
  }

  /** Judges the Environment of a read-only preparation: who it is for. Pure. */
  refuseReadOnly(
    environment: LocalEnvironment,
    stateKey: string,
  ): EnvironmentRefusal | undefined {
    const { environmentId, sessionId } = this.#parts.identity;
    if (
      environment.id !== environmentId ||
      stateKey !== `agents-api-${sessionId}`
    ) return "invalid_configuration";
    return hasForeignNetworkPolicy(environment)
      ? "unsupported_configuration"
      : undefined;
  }

  /** Proves that the workspace can be read. Nothing stays open: each read opens it again. */
  openReadOnly(signal: AbortSignal): Promise<{ readonly error?: Error }> {
    try {
      signal.throwIfAborted();
      this.#parts.workspace.open().close();
      return Promise.resolve({});
    } catch (error) {
      return Promise.resolve({
        error: error instanceof Error ? error : new Error(String(error)),
      });
    }
  }

  #refusal(
    environment: LocalEnvironment,
    sessionId: string,
  ): EnvironmentRefusal | undefined {
    const { identity, workspace } = this.#parts;
    if (
      environment.id !== identity.environmentId ||
      sessionId !== identity.sessionId
    ) return "invalid_configuration";
    if (hasForeignNetworkPolicy(environment)) {
      return "unsupported_configuration";
    }
    const { workspace_directory: directory } = environment;
    if (directory !== WORKSPACE_ALIAS && directory !== workspace.path) {
      return "invalid_configuration";
    }
    const sources = environment.capability_sources ?? {};
    const isSelected = [sources.skills, sources.plugins, sources.directories]
      .some((list) => (list ?? []).length > 0);
    if (
      !isCapabilitySelection(sources) ||
      !(sources.directories ?? []).every((path) => isAbsolute(path)) ||
      (environment.capabilities !== undefined &&
        environment.capabilities !== isSelected)
    ) return "invalid_configuration";
    return undefined;
  }

  async #prepare(
    environment: LocalEnvironment,
    signal: AbortSignal,
  ): Promise<InstalledEnvironment> {
    const parts = this.#parts;
    signal.throwIfAborted();
    parts.workspace.open().close();
    using marker = await CompletionMarker.open(
      parts.markerDirectory,
      parts.identity,
      parts.capabilities.path,
    );
    const isComplete = await marker.isComplete();
    const variables = await this.#variables(environment, isComplete);
    const sources = environment.capability_sources ?? {};
    await this.#ensureSealed(marker, isComplete, sources);
    const installed = await loadSelection(
      parts.capabilities,
      parts.identity,
      sources,
    );
    const root = parts.capabilities.path;
    return {
      environment: {
        kind: "local",
        workspaceRoot: parts.workspace.path,
        toolEnvironment: variables,
        skillDirectories: installed.skillRoots.map((path) => join(root, path)),
      },
      mcpServers: installed.servers.map((server) =>
        this.#binding(server, variables)
      ),
    };
  }

  async #variables(
    environment: LocalEnvironment,
    isComplete: boolean,
  ): Promise<Variables> {
    const { tools } = this.#parts;
    const frozen = await loadToolEnvironment(tools);
    if (frozen) return frozen;
    if (environment.tool_environment === true || isComplete) {
      throw new Error("the tool environment was never configured");
    }
    await configureToolEnvironment(tools, {});
    return await loadToolEnvironment(tools) ?? {};
  }

  async #ensureSealed(
    marker: CompletionMarker,
    isComplete: boolean,
    sources: CapabilitySources,
  ): Promise<void> {
    const isSealed = hasSelection(this.#parts.capabilities);
    if (isSealed && isComplete) return;
    if (isComplete) throw new Error("the installed selection is gone");
    if (isSealed) return await marker.complete(); // the mark was lost between the two writes
    await seal(this.#parts, marker, sources);
  }

  #binding(installed: InstalledServer, variables: Variables): McpBinding {
    const { server, packageRoot } = installed;
    const common = {
      label: server.name,
      origin: "environment",
      allowedTools: null,
      required: false,
    } as const;
    if (server.type === "http") {
      const name = server.bearer_token_env_var;
      const bearerToken = name === undefined ? undefined : variables[name];
      if (name !== undefined && !bearerToken) {
        throw new InstalledServerError("a server's credential is missing");
      }
      return {
        ...common,
        transport: "http",
        url: server.url,
        headers: server.http_headers ?? {},
        ...(bearerToken === undefined ? {} : { bearerToken }),
      };
    }
    const environment: Record<string, string> = {};
    for (const name of SEARCH_PATHS) {
      // Installed packages are found by these, as they are by the tools of a Turn.
      const value = variables[name];
      if (value !== undefined) environment[name] = value;
    }
    for (const name of server.env_vars ?? []) {
      const value = variables[name];
      if (value === undefined) {
        throw new InstalledServerError("a server's variable is missing");
      }
      environment[name] = value;
    }
    return {
      ...common,
      transport: "stdio",
      environment,
      ...this.#parts.launcher({
        capabilityRoot: this.#parts.capabilities.path,
        packageRoot,
        name: server.name,
      }),
    };
  }
}

/** A policy that this daemon would have to enforce and cannot. */
function hasForeignNetworkPolicy(environment: LocalEnvironment): boolean {
  const { network_access: access, allowed_domains: domains } = environment;
  return (access !== undefined && access !== "enabled") ||
    (domains ?? []).length > 0;
}
