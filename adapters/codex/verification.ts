/**
 * What a preparation confirms with the engine itself before it counts as ready. The answers may
 * hold expanded secrets: only names and states are looked at, nothing is logged.
 */
import type {
  McpBinding,
  PreparedConfiguration,
} from "../../src/harness/contract.ts";
import type { AppServer } from "./app_server.ts";
import type { CodexLimits } from "./limits.ts";
import { codeModeOff } from "./options.ts";
import { configAnswer, requirementsAnswer } from "./native_schema.ts";

const CODE_MODE_FEATURES = [
  "code_mode",
  "code_mode_only",
  "code_mode_prewarm",
];

/** Before the thread: no foreign server, no requirement against a control. */
export async function verifyProcess(
  server: AppServer,
  configuration: PreparedConfiguration,
  workingDirectory: string,
  limits: CodexLimits,
): Promise<void> {
  const { rpc } = server;
  const timeout = limits.request;
  const config = configAnswer.safeParse(
    await rpc.request("config/read", {
      cwd: workingDirectory,
      includeLayers: false,
    }, { timeout }),
  );
  // The declared servers travel with the thread: the process itself must know none.
  if (
    !config.success ||
    Object.keys(config.data.config.mcp_servers ?? {}).length > 0
  ) {
    throw new Error(
      "codex: effective native MCP configuration differs from the declaration",
    );
  }
  if (!codeModeOff(configuration)) return;
  const answer = requirementsAnswer.safeParse(
    await rpc.request("configRequirements/read", {}, { timeout }),
  );
  if (!answer.success) {
    throw new Error("codex: native requirements are unavailable");
  }
  const required = answer.data.requirements?.featureRequirements ?? {};
  if (CODE_MODE_FEATURES.some((name) => required[name] === true)) {
    throw new Error(
      "codex: required programmatic tools conflict with explicit disabling",
    );
  }
}

/** After the thread: exactly the declared servers, the required ones connected. */
export function verifyServers(
  server: AppServer,
  declared: readonly McpBinding[],
): void {
  const names = new Set(declared.map(({ label }) => label));
  for (const name of server.mcpStates.keys()) {
    if (!names.has(name)) {
      throw new Error("codex: the engine started an undeclared MCP server");
    }
  }
  for (const { label, required } of declared) {
    if (required && server.mcpStates.get(label) === "failed") {
      throw new Error("codex: a required MCP server is not connected");
    }
  }
}
