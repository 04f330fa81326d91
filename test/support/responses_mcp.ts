/**
 * A small MCP server over HTTP on 127.0.0.1. Owns its listener; records what it was asked and with
 * which headers.
 */

interface McpRequest {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

/** What the server demands and offers. */
export interface McpOptions {
  /** Requests without this bearer are answered with 401. */
  readonly bearer?: string;
  readonly tools: readonly string[];
}

/** A running server. */
export class McpServer implements AsyncDisposable {
  readonly requests: McpRequest[] = [];
  readonly authorizations: (string | null)[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #options: McpOptions;

  private constructor(options: McpOptions) {
    this.#options = options;
    this.#server = Deno.serve({
      hostname: "127.0.0.1",
      port: 0,
      onListen: () => {},
    }, (request) => this.#handle(request));
  }

  static start(options: McpOptions): McpServer {
    return new McpServer(options);
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}/mcp`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }

  async #handle(request: Request): Promise<Response> {
    const authorization = request.headers.get("authorization");
    this.authorizations.push(authorization);
    const { bearer } = this.#options;
    if (bearer !== undefined && authorization !== `Bearer ${bearer}`) {
      return new Response(null, { status: 401 });
    }
    if (request.method !== "POST") return new Response(null, { status: 405 });
    const message: McpRequest = await request.json();
    this.requests.push(message);
    if (message.id === undefined) return new Response(null, { status: 202 });
    return Response.json({
      jsonrpc: "2.0",
      id: message.id,
      result: this.#result(message),
    });
  }

  #result({ method, params }: McpRequest): unknown {
    switch (method) {
      case "initialize":
        return {
          protocolVersion: params?.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: "test", version: "1" },
        };
      case "tools/list":
        return {
          tools: this.#options.tools.map((name) => ({
            name,
            description: name,
            inputSchema: { type: "object" },
          })),
        };
      case "tools/call":
        return {
          content: [{
            type: "text",
            text: `result of ${params?.name} ${
              JSON.stringify(params?.arguments)
            }`,
          }],
          ...(params?.name === "broken" ? { isError: true } : {}),
        };
      default:
        return {};
    }
  }
}
