/**
 * What an adapter prepares from: the immutable configuration of one Session's Executor.
 */
import type {
  ExecutionControls,
  FunctionTool,
  ModelProvider,
} from "../protocol/configuration.ts";

/** The immutable configuration of a Session's Executor: no Run id, no input. */
export interface PreparedConfiguration {
  readonly sessionId: string;
  readonly agentStateKey: string;
  /** The exact native Session to continue. */
  readonly agentSessionId?: string;
  /** Continue the one native history of this Session, or fail. */
  readonly requireExistingNativeSession: boolean;
  readonly model?: string;
  readonly systemPrompt?: string;
  /** Confidential: never logged, written to a file or echoed. */
  readonly modelProvider?: ModelProvider;
  /** `{}` when absent. Members are the adapter's to judge. */
  readonly harnessConfig: Readonly<Record<string, unknown>>;
  readonly executionControls?: ExecutionControls;
  readonly observeMessages: boolean;
  readonly observeSubagentIdentities: boolean;
  readonly disableSubagents: boolean;
  readonly maxConcurrentSubagents?: number;
  readonly functionTools: readonly FunctionTool[];
  readonly toolSearch: boolean;
  /** Absent keeps the native default; an empty list owns the native MCP configuration: none. */
  readonly mcpServers?: readonly McpBinding[];
  readonly environment: PreparedEnvironment;
}

/** Where the Harness works. */
export type PreparedEnvironment =
  | { readonly kind: "none" }
  | {
    readonly kind: "local";
    /** The bound workspace root, resolved and verified by the Runtime. */
    readonly workspaceRoot: string;
    /** Variables of the initialised tool environment. */
    readonly toolEnvironment: Readonly<Record<string, string>>;
    /** Absolute directories of installed skills, each holding a `SKILL.md`. */
    readonly skillDirectories: readonly string[];
  };

/** One effective MCP server. Holds secrets: never serialised, never logged. */
export type McpBinding =
  & {
    readonly label: string;
    readonly origin: "service" | "environment";
    /** `null` allows all tools of the server, `[]` none. */
    readonly allowedTools: readonly string[] | null;
    readonly required: boolean;
  }
  & (
    | {
      readonly transport: "http";
      readonly url: string;
      readonly bearerToken?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
    | {
      readonly transport: "stdio";
      readonly command: string;
      readonly arguments: readonly string[];
      readonly environment: Readonly<Record<string, string>>;
    }
  );
