// Owns the checks of `execution_prepare` that look at the request alone, in the order of the wire, and
// the translation of the wire's configuration into what an adapter prepares.
import type {
  DiscoveredHarness,
  ExecutorFactory,
  McpBinding,
  PreparedConfiguration,
} from "../harness/contract.ts";
import type { Log } from "../platform/log.ts";
import type { AgentOptions } from "../protocol/agent_options.ts";
import type { McpHttpServer } from "../protocol/configuration.ts";
import { checkConfigurationSupport } from "../protocol/configuration_support.ts";
import type {
  ExecutionPrepare,
  PrepareErrorCode,
} from "../protocol/execution.ts";
import { isBlank } from "../protocol/text.ts";
import { guarded } from "./adapter_checks.ts";
import type {
  AcceptedEnvironment,
  BindingJudgement,
  WorkspaceBinding,
} from "./binding.ts";
import { executorFingerprint } from "./fingerprint.ts";

/** The Harness kinds, as the router asks for them. Satisfied by the registry. */
export interface HarnessKinds {
  get(kind: string): DiscoveredHarness | undefined;
}

/** A request whose configuration can be prepared. */
export interface JudgedConfiguration {
  readonly harness: DiscoveredHarness;
  readonly factory: ExecutorFactory;
  /** As far as the request tells; see {@linkcode JudgedConfiguration.complete}. */
  readonly prepared: PreparedConfiguration;
  /**
   * Adds what was installed for a local Environment.
   *
   * @throws when the Environment is not usable or does not fit the request.
   */
  readonly complete: CompleteConfiguration;
  /** Empty without an Environment. */
  readonly environmentId: string;
  readonly fingerprint: string;
}

/** Makes the configuration that the native preparation gets. */
export type CompleteConfiguration = (
  signal: AbortSignal,
) => Promise<PreparedConfiguration>;

/** The judgement. `reason` is for the local log and echoes nothing. */
export type Judgement =
  | { readonly ok: true; readonly value: JudgedConfiguration }
  | {
    readonly ok: false;
    readonly code: PrepareErrorCode;
    readonly reason: string;
  };

/** What the judgement needs beside the request. */
export interface JudgementContext {
  readonly harnesses: HarnessKinds;
  readonly binding: WorkspaceBinding | undefined;
  readonly log: Log;
  /** The text the request came in. */
  readonly source: string;
}

/** Judges an executable preparation; nothing native happened and nothing is recorded. */
export function judgeConfiguration(
  request: ExecutionPrepare,
  context: JudgementContext,
): Judgement {
  const { configuration } = request;
  if (!namesItsSession(request)) {
    return refuse("invalid_configuration", "the request contradicts itself");
  }
  const harness = context.harnesses.get(configuration.agent_kind);
  if (harness === undefined || !harness.available) {
    return refuse("resource_unavailable", "the agent kind is not available");
  }
  const { factory, declaration } = harness;
  if (factory === undefined || declaration.preparation !== "supported") {
    return refuse("unsupported_preparation", "the kind prepares nothing");
  }
  const resolved = resolveEnvironment(request, context.binding);
  if (resolved !== undefined && !resolved.ok) {
    return refuse(resolved.code, "the binding refuses the Environment");
  }
  const support = checkConfigurationSupport({
    configuration,
    source: context.source,
    declaration,
  });
  if (!support.ok) return refuse("unsupported_configuration", support.reason);
  if (configuration.local_environment !== undefined && resolved === undefined) {
    return refuse("invalid_configuration", "this daemon is not bound");
  }
  const environment = resolved?.value;
  const servers = configuration.mcp_http_servers?.map(declaredServer);
  if (servers !== undefined && !haveOwnLabels(servers)) {
    return refuse("unsupported_configuration", "two MCP servers share a label");
  }
  const prepared = translate(request, support.value, environment, servers);
  const refusal = guarded(
    context.log,
    () => factory.checkConfiguration(prepared),
  );
  if (refusal !== undefined) {
    return refuse("unsupported_configuration", refusal.reason);
  }
  return {
    ok: true,
    value: {
      harness,
      factory,
      prepared,
      complete: (signal) => complete(prepared, factory, environment, signal),
      environmentId: configuration.local_environment?.id ?? "",
      fingerprint: executorFingerprint(
        configuration,
        environment?.fingerprint ?? "",
      ),
    },
  };
}

function refuse(code: PrepareErrorCode, reason: string): Judgement {
  return { ok: false, code, reason };
}

/** A Session, no Run, no input, and the state key that belongs to the Session. */
function namesItsSession({ session_id, configuration }: ExecutionPrepare) {
  return !isBlank(session_id) && configuration.run_id === "" &&
    (configuration.input ?? []).length === 0 &&
    configuration.agent_state_key === `agents-api-${session_id}`;
}

function resolveEnvironment(
  { session_id, configuration }: ExecutionPrepare,
  binding: WorkspaceBinding | undefined,
): BindingJudgement | undefined {
  const { local_environment: local } = configuration;
  if (local === undefined || binding === undefined) return undefined;
  return binding.resolve(local, session_id);
}

async function complete(
  prepared: PreparedConfiguration,
  factory: ExecutorFactory,
  accepted: AcceptedEnvironment | undefined,
  signal: AbortSignal,
): Promise<PreparedConfiguration> {
  if (accepted === undefined) return prepared;
  const { environment, mcpServers: installed } = await accepted.prepare(signal);
  const declared = prepared.mcpServers;
  const servers = declared === undefined && installed.length === 0
    ? undefined
    : [...(declared ?? []), ...installed];
  if (servers !== undefined && !haveOwnLabels(servers)) {
    throw new Error("an installed MCP server has the label of another");
  }
  const whole: PreparedConfiguration = {
    ...prepared,
    environment,
    ...(servers === undefined ? {} : { mcpServers: servers }),
  };
  const refusal = factory.checkConfiguration(whole);
  if (refusal !== undefined) throw new Error(refusal.reason);
  return whole;
}

/** Labels are identities: two equal ones are refused. */
function haveOwnLabels(servers: readonly McpBinding[]): boolean {
  return new Set(servers.map(({ label }) => label)).size === servers.length;
}

function declaredServer(server: McpHttpServer): McpBinding {
  return {
    transport: "http",
    label: server.server_label,
    origin: server.connection_origin === "service" ? "service" : "environment",
    url: server.server_url,
    allowedTools: server.allowed_tools,
    required: server.required === true,
    ...(server.bearer_token === undefined
      ? {}
      : { bearerToken: server.bearer_token }),
  };
}

function translate(
  { session_id, configuration }: ExecutionPrepare,
  options: AgentOptions,
  accepted: AcceptedEnvironment | undefined,
  mcpServers: readonly McpBinding[] | undefined,
): PreparedConfiguration {
  const {
    agent_session_id: agentSessionId,
    execution_controls: executionControls,
    max_concurrent_subagents: maxConcurrentSubagents,
  } = configuration;
  const { model, system_prompt, model_provider, harness_config } = options;
  return {
    sessionId: session_id,
    agentStateKey: configuration.agent_state_key ?? "",
    ...(agentSessionId === undefined ? {} : { agentSessionId }),
    requireExistingNativeSession:
      configuration.require_existing_native_session === true,
    ...(model === undefined ? {} : { model }),
    ...(system_prompt === undefined ? {} : { systemPrompt: system_prompt }),
    ...(model_provider === undefined ? {} : { modelProvider: model_provider }),
    harnessConfig: harness_config ?? {},
    ...(executionControls === undefined ? {} : { executionControls }),
    observeMessages: configuration.observe_messages === true,
    observeSubagentIdentities:
      configuration.observe_subagent_identities === true,
    disableSubagents: configuration.disable_subagents === true,
    ...(maxConcurrentSubagents === undefined ? {} : { maxConcurrentSubagents }),
    functionTools: configuration.function_tools ?? [],
    toolSearch: configuration.tool_search === true,
    ...(mcpServers === undefined ? {} : { mcpServers }),
    environment: accepted === undefined ? { kind: "none" } : {
      kind: "local",
      workspaceRoot: accepted.workspaceRoot,
      toolEnvironment: {},
      skillDirectories: [],
    },
  };
}
