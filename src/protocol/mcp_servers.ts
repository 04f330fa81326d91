// Owns the rules that hold among the MCP servers of one configuration, apart from capabilities:
// where a server is reached from, and what its label, endpoint, tools and credential may look like.
import type { Configuration, McpHttpServer } from "./configuration.ts";
import { readEndpoint } from "./endpoint.ts";
import { isTrimmed } from "./text.ts";

/** Why the servers of the configuration are refused; `undefined` when they are not. */
export function mcpServersRefusal(
  configuration: Configuration,
): string | undefined {
  const servers = configuration.mcp_http_servers ?? [];
  const labels = servers.map(({ server_label }) => server_label);
  if (new Set(labels).size !== labels.length || !labels.every(isTrimmed)) {
    return "an MCP server is not identified";
  }
  for (const server of servers) {
    if (!matchesEnvironment(server, configuration)) {
      return "an MCP connection origin does not match the Environment";
    }
    const refusal = serverRefusal(server);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

/** No origin is ever chosen for a server that does not name one. */
function matchesEnvironment(
  { connection_origin }: McpHttpServer,
  configuration: Configuration,
): boolean {
  const local = configuration.local_environment !== undefined;
  const none = configuration.disable_execution_environment === true;
  switch (connection_origin) {
    case "service":
      return none && !local;
    case "environment":
      return local && !none;
    default:
      return false;
  }
}

function serverRefusal(server: McpHttpServer): string | undefined {
  const endpoint = readEndpoint(server.server_url);
  if (
    endpoint === undefined ||
    (endpoint.hasQuery && server.connection_origin === "service")
  ) {
    return "an MCP endpoint is malformed";
  }
  if (!(server.allowed_tools ?? []).every(isTrimmed)) {
    return "an MCP tool allow-list is malformed";
  }
  const token = server.bearer_token;
  if (token !== undefined && !(endpoint.secure && isBearerToken(token))) {
    return "an MCP bearer credential is malformed or would travel in the open";
  }
  return undefined;
}

/** The characters a bearer token may have; an empty one is no token. */
function isBearerToken(token: string): boolean {
  return /^[A-Za-z0-9\-._~+/]+=*$/.test(token);
}
