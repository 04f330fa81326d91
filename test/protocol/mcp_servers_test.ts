// MCP servers of a configuration: origins, labels, endpoints, tools and credentials.
import { judge, LOCAL, mcp, NONE, SERVER } from "./configurations.ts";
import { acceptEach, refuseEach } from "./wire_rows.ts";

Deno.test("MCP connection origins", async (t) => {
  await acceptEach(t, {
    "service without Environment": mcp(NONE, {}),
    "environment with local Environment": mcp(LOCAL, {
      connection_origin: "environment",
    }),
    "all tools": mcp(NONE, { allowed_tools: null }),
    "tools not mentioned": mcp(NONE, { allowed_tools: undefined }),
    "no tool": mcp(NONE, { allowed_tools: [] }),
    "one tool": mcp(NONE, { allowed_tools: ["a"] }),
    "explicitly no server": { ...NONE, mcp_http_servers: [] },
  }, judge);
  await refuseEach(t, {
    "service with local Environment": mcp(LOCAL, {}),
    "service with neither": mcp({}, {}),
    "environment without Environment": mcp(NONE, {
      connection_origin: "environment",
    }),
    "empty origin": mcp(NONE, { connection_origin: "" }),
    "unknown origin": mcp(NONE, { connection_origin: "core" }),
    "absent origin": mcp(NONE, { connection_origin: undefined }),
    "null origin": mcp(NONE, { connection_origin: null }),
  }, judge);
});

Deno.test("MCP labels, endpoints, tools and credentials", async (t) => {
  const bearer = { bearer_token: "abc-._~+/==" };
  await acceptEach(t, {
    "http endpoint": mcp(NONE, { server_url: "http://mcp.example:8080/x" }),
    "query from the Environment": mcp(LOCAL, {
      connection_origin: "environment",
      server_url: "https://mcp.example/?q=1",
    }),
    "bearer over https": mcp(NONE, bearer),
    "two labels": {
      ...NONE,
      mcp_http_servers: [SERVER, { ...SERVER, server_label: "other" }],
    },
  }, judge);
  await refuseEach(t, {
    "bearer over http": mcp(NONE, { ...bearer, server_url: "http://m.test/" }),
    "bearer over http to loopback": mcp(NONE, {
      ...bearer,
      server_url: "http://127.0.0.1:1/",
    }),
    "empty bearer": mcp(NONE, { bearer_token: "" }),
    "bearer with a space": mcp(NONE, { bearer_token: "a b" }),
    "bearer with a line break": mcp(NONE, { bearer_token: "a\n" }),
    "query from the service": mcp(NONE, { server_url: "https://m.test/?q" }),
    "fragment": mcp(NONE, { server_url: "https://m.test/#f" }),
    "userinfo": mcp(NONE, { server_url: "https://u@m.test/" }),
    "opaque": mcp(NONE, { server_url: "https:m.test" }),
    "other scheme": mcp(NONE, { server_url: "ws://m.test/" }),
    "no host": mcp(NONE, { server_url: "https:///x" }),
    "line break": mcp(NONE, { server_url: "https://m.te\nst/" }),
    "blank label": mcp(NONE, { server_label: " " }),
    "untrimmed label": mcp(NONE, { server_label: "docs " }),
    "label twice": { ...NONE, mcp_http_servers: [SERVER, SERVER] },
    "blank tool": mcp(NONE, { allowed_tools: ["a", ""] }),
    "untrimmed tool": mcp(NONE, { allowed_tools: [" a"] }),
  }, judge);
});
