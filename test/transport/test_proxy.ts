// Proxies on loopback: one that speaks CONNECT, with or without credentials, and one that forwards
// bytes until it is told to swallow them.
import * as net from "node:net";

/** A proxy that records what it was asked and forwards to one port. */
export class ConnectProxy implements AsyncDisposable {
  readonly requests: string[] = [];
  readonly #server: net.Server;
  readonly #open = new Set<net.Socket>();

  /** `authorization` is the only accepted header value; `status` refuses everyone. */
  constructor(
    targetPort: number,
    rules: { readonly authorization?: string; readonly status?: number } = {},
  ) {
    this.#server = net.createServer((client) => {
      this.#track(client);
      client.once("data", (data) => {
        const request = data.toString();
        this.requests.push(request);
        const given = /^proxy-authorization: (.*)$/im.exec(request)?.[1];
        const status = rules.status ??
          (rules.authorization !== undefined &&
              given?.trim() !== rules.authorization
            ? 407
            : 200);
        if (status !== 200) {
          client.end(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n`);
          return;
        }
        const upstream = net.connect(targetPort, "127.0.0.1", () => {
          client.write("HTTP/1.1 200 OK\r\n\r\n");
          client.pipe(upstream).pipe(client);
        });
        this.#track(upstream);
      });
    });
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) =>
      this.#server.listen(0, "127.0.0.1", resolve)
    );
    return this;
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port;
  }

  #track(socket: net.Socket): void {
    this.#open.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => this.#open.delete(socket));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

/** Forwards to one port; `blackhole` keeps both TCP connections up and drops every byte. */
export class BlackholeProxy implements AsyncDisposable {
  connections = 0;
  #swallow = false;
  readonly #server: net.Server;
  readonly #open = new Set<net.Socket>();

  constructor(targetPort: number) {
    this.#server = net.createServer((client) => {
      this.connections++;
      const upstream = net.connect(targetPort, "127.0.0.1");
      for (const [from, to] of [[client, upstream], [upstream, client]]) {
        if (!from || !to) continue;
        this.#open.add(from);
        from.on("error", () => {});
        from.on("data", (data) => {
          if (!this.#swallow) to.write(data);
        });
        from.on("close", () => {
          this.#open.delete(from);
          if (!this.#swallow) to.destroy();
        });
      }
    });
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) =>
      this.#server.listen(0, "127.0.0.1", resolve)
    );
    return this;
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port;
  }

  blackhole(): void {
    this.#swallow = true;
  }

  /** Forwards again, for new connections and old ones. */
  restore(): void {
    this.#swallow = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
