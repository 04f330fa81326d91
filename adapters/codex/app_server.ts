/**
 * One `codex app-server` process: started, greeted, read, and ended. Owns the child; passes what
 * the server says to whoever is attached, and keeps what a preparation needs until then.
 */
import type { Child, SpawnChild } from "../../src/harness/child.ts";
import type { Clock } from "../../src/platform/clock.ts";
import type { Log } from "../../src/platform/log.ts";
import type { CodexLimits } from "./limits.ts";
import { initializeAnswer, mcpStatusEvent } from "./native_schema.ts";
import { Rpc, type RpcHandlers } from "./rpc.ts";

/** What a process is started with. */
export interface AppServerStart {
  readonly spawn: SpawnChild;
  readonly program: string;
  readonly arguments: readonly string[];
  readonly workingDirectory: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: CodexLimits;
  /** Values that must not appear in what is kept of stderr. */
  readonly secrets: readonly string[];
}

/** Notifications nobody here reads; left out at the source. */
const UNREAD = [
  "account/rateLimits/updated",
  "item/commandExecution/outputDelta",
  "remoteControl/status/changed",
  "skills/changed",
  "thread/readState/changed",
  "turn/diff/updated",
];

/** A running process. */
export class AppServer {
  readonly rpc: Rpc;
  /** Last reported state of each MCP server by name. */
  readonly mcpStates = new Map<string, string>();
  readonly #child: Child;
  readonly #log: Log;
  readonly #reading: Promise<void>;
  #handlers: RpcHandlers | undefined;
  #early: [string, unknown][] = [];
  #hasEnded: { readonly error: Error | undefined } | undefined;

  private constructor(child: Child, start: AppServerStart) {
    this.#child = child;
    this.#log = start.log;
    this.rpc = new Rpc(child, start.clock, start.log);
    this.#reading = this.rpc.read({
      notification: (method, params) => this.#notified(method, params),
      request: (id, method, params) => {
        if (this.#handlers) this.#handlers.request(id, method, params);
        else this.rpc.refuse(id, -32601, "nothing is served here");
      },
      ready: () => this.#handlers?.ready() ?? Promise.resolve(),
      ended: (error) => {
        this.#hasEnded = { error };
        this.#handlers?.ended(error);
      },
    });
  }

  /**
   * Starts and greets the process.
   *
   * @throws when it cannot be started: then nothing is left.
   */
  static async start(start: AppServerStart): Promise<AppServer> {
    const child = await start.spawn({
      program: start.program,
      arguments: start.arguments,
      workingDirectory: start.workingDirectory,
      environment: start.environment,
      name: "codex app-server",
      clock: start.clock,
      log: start.log,
      closeGrace: start.limits.closeGrace,
      maximumLineBytes: start.limits.lineBytes,
      secrets: start.secrets,
    });
    return new AppServer(child, start);
  }

  /** The handshake. Returns how the program names itself, its version included. */
  async initialize(timeout: number): Promise<string> {
    const answer = await this.rpc.request("initialize", {
      clientInfo: { name: "agent-daemon", title: null, version: "1.0.0" },
      capabilities: {
        experimentalApi: true,
        requestAttestation: false,
        optOutNotificationMethods: UNREAD,
      },
    }, { timeout });
    await this.rpc.notify("initialized");
    const greeting = initializeAnswer.safeParse(answer);
    return greeting.success ? greeting.data.userAgent : "";
  }

  /** From now on `handlers` are told everything; what came before is told first. */
  attach(handlers: RpcHandlers): void {
    this.#handlers = handlers;
    for (const [method, params] of this.#early) {
      handlers.notification(method, params);
    }
    this.#early = [];
    if (this.#hasEnded) handlers.ended(this.#hasEnded.error);
  }

  /** Ends the process and waits until all it said was dispatched. */
  async close(): Promise<void> {
    await this.closeProcess();
    await this.#reading;
  }

  /** Ends the process; see the contract of a child. */
  closeProcess(): Promise<void> {
    return this.#child.close();
  }

  /** The last lines of stderr, for the local log. */
  stderrTail(): string {
    return this.#child.stderrTail();
  }

  #notified(method: string, params: unknown): void {
    if (method === "mcpServer/startupStatus/updated") {
      const event = mcpStatusEvent.safeParse(params);
      if (event.success) {
        this.mcpStates.set(event.data.name, event.data.status);
      }
      return;
    }
    if (method === "configWarning" || method === "warning") {
      this.#log.debug("codex.warning"); // its text is native and may quote paths
      return;
    }
    if (this.#handlers) return this.#handlers.notification(method, params);
    // Of all that precedes the first Turn only the persisted usage is kept.
    if (method === "thread/tokenUsage/updated") {
      this.#early = [[method, params]];
    }
  }
}
