// Owns the reads of one connection: at most four at once, each answered once, after its handles are
// closed. A read that is overdue is answered as unknown and still owned until the system returns it.
import type { Envelope, InboundEnvelope } from "../protocol/envelope.ts";
import { runtimeFrame } from "../protocol/frames.ts";
import {
  MAX_OPERATION_ID_BYTES,
  MAX_REPEATED_TRACE_BYTES,
} from "../protocol/limits.ts";
import { fitsUtf8 } from "../protocol/text.ts";
import {
  checkWorkspaceReadResult,
  decodeWorkspaceRead,
  type WorkspaceRead,
  type WorkspaceReadRejection,
  type WorkspaceReadResult,
} from "../protocol/workspace_read.ts";
import { listWorkspaceDirectory } from "../workspace/list_directory.ts";
import { readWorkspaceFile } from "../workspace/read_file.ts";
import type { PinnedRoot } from "../workspace/root.ts";
import { MAX_READS, READ_BUDGET_MS, REPLY_BUDGET_MS } from "./limits.ts";
import type {
  RuntimeService,
  RuntimeServiceFactory,
  ServicePort,
} from "./service_host.ts";

const UNKNOWN: WorkspaceReadResult = {
  outcome: "unknown",
  error_code: "read_unconfirmed",
};

/** Serves `workspace_read` from the bound workspace. */
export function workspaceReads(root: PinnedRoot): RuntimeServiceFactory {
  return (port) => new WorkspaceReads(port, root);
}

class WorkspaceReads implements RuntimeService {
  readonly frames = ["workspace_read"] as const;
  readonly #port: ServicePort;
  readonly #root: PinnedRoot;
  readonly #pending = new Set<string>();
  /** Handles and Runs with a read of unknown outcome: they are not read again. */
  readonly #ambiguous = new Set<string>();
  /** Reads that were answered as unknown and that the system has not returned. */
  #overdue = 0;

  constructor(port: ServicePort, root: PinnedRoot) {
    this.#port = port;
    this.#root = root;
  }

  handle(envelope: InboundEnvelope): void {
    const id = envelope.id ?? "";
    // An id that is too long is never repeated, not even in a refusal.
    if (!fitsUtf8(id, MAX_OPERATION_ID_BYTES)) return;
    const decoded = decodeWorkspaceRead(envelope);
    if (!decoded.ok) return this.#reject(envelope, "invalid_request");
    if (this.#pending.has(id)) return;
    if (this.#pending.size >= MAX_READS) {
      return this.#reject(envelope, "read_capacity");
    }
    const request = decoded.value;
    const owner = request.handle ?? request.run_id ?? "";
    const target = request.handle !== undefined
      ? this.#port.readyHandle(request.handle)
      : this.#port.publishedRun(owner);
    if (
      target?.environmentId !== request.environment_id ||
      this.#ambiguous.has(owner)
    ) return this.#reject(envelope, "resource_unavailable");
    this.#pending.add(id);
    this.#port.task(
      "workspace read",
      () => this.#serve(envelope, request, owner, target.hold()),
    );
  }

  work() {
    return {
      transfer: false,
      write: false,
      export: false,
      reads: this.#pending.size,
    };
  }

  unknownOwners() {
    return this.#overdue === 0 ? [] : [{
      owner: "workspace read",
      remedy: "see what keeps the workspace's file system from answering",
    }];
  }

  close(): void {}

  /** Reads, answers within the budget, and owns the read until the system has returned it. */
  async #serve(
    envelope: InboundEnvelope,
    request: WorkspaceRead,
    owner: string,
    closed: () => void,
  ): Promise<void> {
    const reading = this.#read(request).finally(closed);
    const result = await this.#withinBudget(reading);
    if (result.outcome === "unknown") this.#ambiguous.add(owner);
    await this.#port.sendWithin(REPLY_BUDGET_MS, replyTo(envelope, result));
    await reading;
    this.#pending.delete(envelope.id ?? "");
  }

  async #read(request: WorkspaceRead): Promise<WorkspaceReadResult> {
    const result = request.operation === "directory"
      ? await this.#directory(request.path, request.max_entries)
      : await this.#file(request.path, request.max_bytes);
    // The result is checked as Core will check it: an invalid one of ours proves nothing.
    return checkWorkspaceReadResult(result, request).ok ? result : UNKNOWN;
  }

  async #file(path: string, maximum: number): Promise<WorkspaceReadResult> {
    const read = await readWorkspaceFile(this.#root, path, maximum);
    switch (read.outcome) {
      case "completed":
        return {
          outcome: "completed",
          close_acknowledged: true,
          data: read.data,
          truncated: read.truncated,
        };
      case "rejected":
        return { outcome: "rejected", error_code: read.code };
      case "unknown":
        return UNKNOWN;
    }
  }

  async #directory(
    path: string,
    maximum: number,
  ): Promise<WorkspaceReadResult> {
    const list = await listWorkspaceDirectory(this.#root, path, maximum);
    switch (list.outcome) {
      case "completed":
        return {
          outcome: "completed",
          close_acknowledged: true,
          directory: { entries: [...list.entries], truncated: list.truncated },
        };
      case "rejected":
        return { outcome: "rejected", error_code: list.code };
      case "unknown":
        return UNKNOWN;
    }
  }

  #withinBudget(
    reading: Promise<WorkspaceReadResult>,
  ): Promise<WorkspaceReadResult> {
    return new Promise((resolve) => {
      let overdue = 0;
      const timer = this.#port.clock.after(READ_BUDGET_MS, () => {
        this.#overdue += ++overdue;
        resolve(UNKNOWN);
      });
      reading.then((result) => {
        timer.cancel();
        this.#overdue -= overdue;
        resolve(result);
      });
    });
  }

  #reject(envelope: InboundEnvelope, code: WorkspaceReadRejection): void {
    const result = { outcome: "rejected", error_code: code } as const;
    this.#port.reply(replyTo(envelope, result));
  }
}

/** A trace that is too long is not repeated. */
function replyTo(
  { id, trace }: InboundEnvelope,
  result: WorkspaceReadResult,
): Envelope {
  const repeated = trace !== undefined &&
      fitsUtf8(trace, MAX_REPEATED_TRACE_BYTES)
    ? trace
    : undefined;
  return runtimeFrame("workspace_read_result", id, result, repeated);
}
