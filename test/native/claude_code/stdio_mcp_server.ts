/** A minimal MCP server on its own pipes: one tool that tells a variable it was given. */
const decoder = new TextDecoderStream();
const encoder = new TextEncoder();
let buffer = "";

function answer(method: string): unknown {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: "stdio", version: "1" },
      };
    case "tools/list":
      return {
        tools: [{
          name: "tell",
          description: "Tells",
          inputSchema: { type: "object" },
        }],
      };
    case "tools/call":
      return {
        content: [{ type: "text", text: Deno.env.get("TOLD") ?? "nothing" }],
      };
    default:
      return undefined;
  }
}

for await (const chunk of Deno.stdin.readable.pipeThrough(decoder)) {
  buffer += chunk;
  const lines = buffer.split("\n");
  buffer = lines.pop() ?? "";
  for (const line of lines) {
    const { id, method } = JSON.parse(line);
    if (id === undefined) continue;
    const result = answer(method);
    const error = { code: -32601, message: "Method not found" };
    const reply = JSON.stringify({
      jsonrpc: "2.0",
      id,
      ...(result === undefined ? { error } : { result }),
    });
    await Deno.stdout.write(encoder.encode(`${reply}\n`));
  }
}
