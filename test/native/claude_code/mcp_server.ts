/** A small MCP server over HTTP on 127.0.0.1, with faults to choose from. */
import { deferred } from "../../../src/platform/deferred.ts";

/** What the server does wrong. */
export type McpFault = "none" | "unauthorized" | "server_error" | "silent";

/** Records every request; serves the tools `alpha`, `beta` and the failing `broken`. */
export class McpServer implements AsyncDisposable {
  readonly authorizations: (string | null)[] = [];
  readonly methods: string[] = [];
  readonly calls: string[] = [];
  readonly #closing = deferred();
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor(
    private readonly bearer: string | undefined,
    private readonly fault: McpFault = "none",
  ) {
    this.#server = Deno.serve({
      hostname: "127.0.0.1",
      port: 0,
      onListen: () => {},
    }, (request) => this.#handle(request));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}/mcp`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.resolve();
    await this.#server.shutdown();
  }

  async #handle(request: Request): Promise<Response> {
    const text = await request.text();
    this.authorizations.push(request.headers.get("authorization"));
    if (this.fault === "silent") await this.#closing.promise;
    if (this.fault === "server_error") {
      return new Response(null, { status: 500 });
    }
    const denied = this.fault === "unauthorized" ||
      (this.bearer !== undefined &&
        request.headers.get("authorization") !== `Bearer ${this.bearer}`);
    if (denied) return new Response(null, { status: 401 });
    if (request.method !== "POST") return new Response(null, { status: 405 });
    const message = JSON.parse(text);
    this.methods.push(message.method);
    if (message.id === undefined) return new Response(null, { status: 202 });
    return Response.json({
      jsonrpc: "2.0",
      id: message.id,
      ...this.#answer(message),
    });
  }

  #answer(
    message: {
      readonly method: string;
      readonly params?: {
        readonly name?: string;
        readonly protocolVersion?: string;
      };
    },
  ): object {
    switch (message.method) {
      case "initialize":
        return {
          result: {
            protocolVersion: message.params?.protocolVersion ?? "2025-06-18",
            capabilities: { tools: {} },
            serverInfo: { name: "fixture", version: "1.0.0" },
          },
        };
      case "tools/list":
        return {
          result: {
            tools: ["alpha", "beta", "broken"].map((name) => ({
              name,
              description: `Tool ${name}`,
              inputSchema: { type: "object" },
            })),
          },
        };
      case "tools/call": {
        const name = message.params?.name ?? "";
        this.calls.push(name);
        return {
          result: {
            content: [{ type: "text", text: `result of ${name}` }],
            isError: name === "broken",
          },
        };
      }
      default:
        return { error: { code: -32601, message: "Method not found" } };
    }
  }
}
