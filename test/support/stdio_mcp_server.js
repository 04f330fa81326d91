// A small MCP server on its standard pipes, as a plugin would bring one: one tool that says a variable.
import { writeFileSync } from "node:fs";
import process from "node:process";
import readline from "node:readline";

const { LISTED } = process.env;
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "plugin", version: "1" },
  }),
  "tools/list": () => ({
    tools: [{
      name: "say",
      description: "Says the variable",
      inputSchema: { type: "object", properties: {} },
    }],
  }),
  "tools/call": () => ({
    content: [{ type: "text", text: `mcp-says-${process.env.INIT_VARIABLE}` }],
  }),
  ping: () => ({}),
};

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = answers[method];
  const body = answer
    ? { result: answer(params ?? {}) }
    : { error: { code: -32601, message: "no such method" } };
  // So that a test can wait until the engine knows the tools.
  if (method === "tools/list") setImmediate(() => writeFileSync(LISTED, ""));
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...body })}\n`);
});
