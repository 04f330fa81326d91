// Owns the export of one connection: Core pulls a tar stream, one answer for each request and none
// unasked. The slot is free again only when the producer has stopped and closed its handles.
import type { Timer } from "../platform/clock.ts";
import type { InboundEnvelope } from "../protocol/envelope.ts";
import { runtimeFrame } from "../protocol/frames.ts";
import { MAX_CHUNK_BYTES, MAX_EXPORT_BYTES } from "../protocol/limits.ts";
import {
  decodeWorkspaceExport,
  type WorkspaceExportResult,
} from "../protocol/workspace_export.ts";
import { exportOutputs } from "../workspace/export_outputs.ts";
import type { PinnedRoot } from "../workspace/root.ts";
import type { BoundIdentity } from "./bound_services.ts";
import { EXPORT_BUDGET_MS, REPLY_BUDGET_MS } from "./limits.ts";
import type {
  RuntimeService,
  RuntimeServiceFactory,
  ServicePort,
  WorkspaceTarget,
} from "./service_host.ts";

/** Serves `workspace_export` from the bound workspace. */
export function workspaceExports(
  identity: BoundIdentity,
  root: PinnedRoot,
): RuntimeServiceFactory {
  return (port) => new WorkspaceExports(port, identity, root);
}

class WorkspaceExports implements RuntimeService {
  readonly frames = ["workspace_export"] as const;
  readonly #port: ServicePort;
  readonly #identity: BoundIdentity;
  readonly #root: PinnedRoot;
  #current: Export | undefined;

  constructor(port: ServicePort, identity: BoundIdentity, root: PinnedRoot) {
    this.#port = port;
    this.#identity = identity;
    this.#root = root;
  }

  handle(envelope: InboundEnvelope): void {
    const decoded = decodeWorkspaceExport(envelope);
    if (!decoded.ok) return;
    const id = envelope.id ?? "";
    const request = decoded.value;
    if (request.step === "begin") {
      return this.#begin(
        id,
        request.handle,
        request.environment_id,
        envelope.trace,
      );
    }
    if (this.#current?.id !== id) return this.#reject(id);
    if (request.step === "cancel") this.#current.stop("silently");
    else this.#current.pull(request.offset ?? 0);
  }

  work() {
    return {
      transfer: false,
      write: false,
      export: this.#current !== undefined,
      reads: 0,
    };
  }

  unknownOwners() {
    return [];
  }

  close(): void {
    this.#current?.stop("silently");
  }

  #begin(
    id: string,
    handle: string,
    environmentId: string,
    trace: string | undefined,
  ): void {
    const target = this.#port.readyHandle(handle);
    const { write, transfer } = this.#port.serviceWork();
    if (
      this.#current || write || transfer || !target?.readOnly ||
      target.environmentId !== environmentId ||
      environmentId !== this.#identity.environmentId
    ) return this.#reject(id);
    const closed = target.hold();
    const started = new Export(id, this.#port, this.#root, target, () => {
      this.#current = undefined;
      closed();
    });
    this.#current = started;
    const { telemetry } = this.#port;
    const span = telemetry.begin("transfer", trace, { family: FAMILY });
    this.#port.task("workspace export", async () => {
      span.end(await started.run());
      telemetry.count("transfer_bytes", started.sent, { family: FAMILY });
    });
    started.pull(0);
  }

  #reject(id: string): void {
    this.#port.reply(runtimeFrame("workspace_export_result", id, {
      outcome: "rejected",
      offset: 0,
      error_code: "resource_unavailable",
    }));
  }
}

/** The name of the family where it is counted. */
const FAMILY = "workspace_export";

/** Requests that wait for their answer: the one being served and at most one more. */
const WAITING_PULLS = 2;

/** One export from its begin until its producer stopped. */
class Export {
  readonly id: string;
  readonly #port: ServicePort;
  readonly #pieces: AsyncGenerator<Uint8Array, void, void>;
  readonly #freed: () => void;
  readonly #ended: AbortSignal;
  readonly #onEnded = () => this.stop("answering");
  readonly #timer: Timer;
  #pulls: number[] = [];
  #wake: (() => void) | undefined;
  #stopped: "no" | "answering" | "silently" = "no";
  #rest: Uint8Array = new Uint8Array();
  #sent = 0;
  #exhausted = false;

  constructor(
    id: string,
    port: ServicePort,
    root: PinnedRoot,
    target: WorkspaceTarget,
    freed: () => void,
  ) {
    this.id = id;
    this.#port = port;
    this.#pieces = exportOutputs(root);
    this.#freed = freed;
    this.#ended = target.ended;
    this.#ended.addEventListener("abort", this.#onEnded, { once: true });
    this.#timer = port.clock.after(EXPORT_BUDGET_MS, this.#onEnded);
  }

  /** Asks for the bytes from `offset`. A request too many ends the export without an answer. */
  pull(offset: number): void {
    if (this.#pulls.length >= WAITING_PULLS) return this.stop("silently");
    this.#pulls.push(offset);
    this.#wake?.();
  }

  /** Stops the producer; `answering` still fails a request that waits. */
  stop(how: "answering" | "silently"): void {
    if (this.#stopped !== "silently") this.#stopped = how;
    this.#wake?.();
  }

  /** Bytes handed to the connection so far. */
  get sent(): number {
    return this.#sent;
  }

  /** Serves the pulls in order until the export ends. Says how it did, in one word. */
  async run(): Promise<"completed" | "failed" | "stopped"> {
    let last: WorkspaceExportResult | undefined;
    while (last === undefined) {
      const offset = await this.#nextPull();
      if (offset === undefined) break;
      const result = await this.#answer(offset);
      if (this.#stopped === "silently") break;
      if (result.outcome === "chunk") await this.#deliver(result);
      else last = result;
    }
    this.#timer.cancel();
    this.#ended.removeEventListener("abort", this.#onEnded);
    await this.#closePieces();
    this.#freed();
    if (last === undefined || this.#stopped === "silently") return "stopped";
    await this.#send(last);
    return last.outcome === "completed" ? "completed" : "failed";
  }

  async #nextPull(): Promise<number | undefined> {
    for (;;) {
      const offset = this.#pulls[0];
      if (this.#stopped === "silently") return undefined;
      if (offset !== undefined) return offset;
      if (this.#stopped === "answering") return undefined;
      await new Promise<void>((resolve) => this.#wake = resolve);
      this.#wake = undefined;
    }
  }

  async #answer(offset: number): Promise<WorkspaceExportResult> {
    if (offset !== this.#sent) return this.#failed("invalid_request");
    try {
      const data = await this.#chunk();
      if (this.#stopped !== "no") return this.#failed("export_failed");
      if (data.length === 0) {
        return { outcome: "completed", offset: this.#sent };
      }
      if (this.#sent + data.length > MAX_EXPORT_BYTES) {
        return this.#failed("export_failed");
      }
      return { outcome: "chunk", offset: this.#sent, data };
    } catch (error) {
      this.#port.log.warn("workspace export failed", {
        error: error instanceof Error ? error : undefined,
      });
      return this.#failed("export_failed");
    }
  }

  /** The next up to 64 KiB of the stream; nothing at its end. */
  async #chunk(): Promise<Uint8Array> {
    while (!this.#exhausted && this.#rest.length < MAX_CHUNK_BYTES) {
      const { value, done } = await this.#pieces.next();
      if (done || !value) this.#exhausted = true;
      else this.#rest = joined(this.#rest, value);
    }
    const data = this.#rest.subarray(0, MAX_CHUNK_BYTES);
    this.#rest = this.#rest.subarray(data.length);
    return data;
  }

  async #deliver(
    result: WorkspaceExportResult,
  ): Promise<void> {
    this.#sent += result.data?.length ?? 0;
    this.#pulls.shift();
    const delivery = await this.#send(result);
    if (delivery !== "delivered") this.stop("silently");
  }

  #failed(code: "invalid_request" | "export_failed"): WorkspaceExportResult {
    return { outcome: "failed", offset: this.#sent, error_code: code };
  }

  #send(result: WorkspaceExportResult) {
    return this.#port.sendWithin(
      REPLY_BUDGET_MS,
      runtimeFrame("workspace_export_result", this.id, result),
    );
  }

  async #closePieces(): Promise<void> {
    try {
      await this.#pieces.return();
    } catch (error) {
      this.#port.log.warn("workspace export close failed", {
        error: error instanceof Error ? error : undefined,
      });
    }
  }
}

function joined(left: Uint8Array, right: Uint8Array): Uint8Array {
  if (left.length === 0) return right;
  const whole = new Uint8Array(left.length + right.length);
  whole.set(left, 0);
  whole.set(right, left.length);
  return whole;
}
