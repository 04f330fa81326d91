/**
 * What Core does with the workspace of a bound Environment: writes under a reservation that only an
 * exact receipt lifts, and reads whose data counts only after the read access is confirmed closed.
 */
import type { Ids } from "../platform/ids.ts";
import type { RuntimePrepareBegin } from "../protocol/runtime_prepare.ts";
import { checkWorkspaceExportResult } from "../protocol/workspace_export.ts";
import {
  checkWorkspaceReadResult,
  type WorkspaceRead,
  type WorkspaceReadResult,
} from "../protocol/workspace_read.ts";
import type { DeviceSession } from "./device_session.ts";
import { CoreRuleBroken } from "./observation.ts";
import type { Preparation, ReleaseOutcome } from "./preparation.ts";
import {
  digestOf,
  type StepListener,
  type TransferOutcome,
  transferPreparation,
  transferWrite,
} from "./transfers.ts";

/** The Environment and Session whose workspace is used. */
export interface WorkspaceIdentity {
  readonly agentKind: string;
  readonly environmentId: string;
  readonly sessionId: string;
}

/** What was read. Without a confirmed release there is no data, only that it is unknown. */
export type Lent<T> =
  | { readonly kind: "data"; readonly value: T }
  | { readonly kind: "refused"; readonly code: string }
  | { readonly kind: "unavailable"; readonly why: string };

/** What one operation under a handle proved, before the handle is released. */
type Answer<T> = Exclude<Lent<T>, { kind: "unavailable" }> | {
  readonly kind: "unavailable";
  readonly why: string;
};

/** The members of an initialization step beside its identity, size and digest. */
export type PreparationStep = {
  readonly [A in RuntimePrepareBegin["action"]]: Omit<
    Extract<RuntimePrepareBegin, { readonly action: A }>,
    "step" | "environment_id" | "session_id" | "size_bytes" | "sha256"
  >;
}[RuntimePrepareBegin["action"]];

/** One workspace on one connection. */
export class WorkspaceClient {
  readonly #session: DeviceSession;
  readonly #identity: WorkspaceIdentity;
  readonly #ids: Ids;
  /** The mutation that may have changed the workspace and has no exact receipt. */
  #reserved: string | undefined;

  constructor(session: DeviceSession, identity: WorkspaceIdentity, ids: Ids) {
    this.#session = session;
    this.#identity = identity;
    this.#ids = ids;
  }

  /** The id of the write that keeps the workspace, when one is not settled. */
  get reservedBy(): string | undefined {
    return this.#reserved;
  }

  /**
   * Creates a file at a workspace-relative path.
   *
   * @throws {CoreRuleBroken} while an earlier write is not settled; nothing was sent then.
   */
  async write(
    path: string,
    body: Uint8Array,
    confirmed?: StepListener,
  ): Promise<TransferOutcome> {
    if (this.#reserved !== undefined) {
      throw new CoreRuleBroken("an earlier write is not settled");
    }
    const id = this.#ids.uuid();
    this.#reserved = id;
    const outcome = await transferWrite(
      this.#session,
      id,
      {
        step: "begin",
        ...this.#owner,
        path,
        sha256: digestOf(body),
        ...(body.length === 0 ? {} : { size_bytes: body.length }),
      },
      body,
      confirmed,
    );
    if (outcome.kind !== "unknown") this.#reserved = undefined;
    return outcome;
  }

  /** Carries out one initialization step. `body` belongs to `skill`, `plugin` and `file`. */
  initialize(
    step: PreparationStep,
    body?: Uint8Array,
  ): Promise<TransferOutcome> {
    const sized = body === undefined ? {} : {
      sha256: digestOf(body),
      ...(body.length === 0 ? {} : { size_bytes: body.length }),
    };
    const begin = { step: "begin", ...this.#owner, ...step, ...sized };
    return transferPreparation(
      this.#session,
      this.#ids.uuid(),
      begin as RuntimePrepareBegin, // the wire's own validator judges the combination
      body,
    );
  }

  /** The first up to `maximumBytes` of a file. */
  read(
    path: string,
    maximumBytes: number,
  ): Promise<Lent<{ readonly data: Uint8Array; readonly truncated: boolean }>> {
    return this.#lent(async (handle) => {
      const result = await this.#readResult({
        handle,
        environment_id: this.#identity.environmentId,
        path,
        max_bytes: maximumBytes,
      });
      if (result.kind !== "data") return result;
      const { data = new Uint8Array(), truncated = false } = result.value;
      return { kind: "data", value: { data, truncated } };
    });
  }

  /** The entries of a directory; the empty path is the root. */
  list(
    path: string,
    maximumEntries: number,
  ): Promise<Lent<NonNullable<WorkspaceReadResult["directory"]>>> {
    return this.#lent(async (handle) => {
      const result = await this.#readResult({
        operation: "directory",
        handle,
        environment_id: this.#identity.environmentId,
        path,
        max_bytes: 0,
        max_entries: maximumEntries,
      });
      if (result.kind !== "data") return result;
      const { directory } = result.value;
      return directory
        ? { kind: "data", value: directory }
        : { kind: "unavailable", why: "the result holds no directory" };
    });
  }

  /** The tar archive of `outputs`. */
  exportOutputs(confirmed: StepListener = () => {}): Promise<Lent<Uint8Array>> {
    return this.#lent((handle) => this.#pull(handle, confirmed));
  }

  get #owner(): { environment_id: string; session_id: string } {
    const { environmentId, sessionId } = this.#identity;
    return { environment_id: environmentId, session_id: sessionId };
  }

  async #readResult(
    request: WorkspaceRead,
  ): Promise<Answer<WorkspaceReadResult>> {
    const outcome = await this.#session.exchange(
      "workspace_read",
      this.#ids.uuid(),
      request,
    );
    if (outcome.kind !== "result") return lost(outcome.kind);
    const { frame } = outcome;
    if (
      frame.type !== "workspace_read_result" ||
      !checkWorkspaceReadResult(frame.payload, request).ok
    ) return lost("the result does not answer its request");
    const { outcome: word, error_code } = frame.payload;
    switch (word) {
      case "completed":
        return { kind: "data", value: frame.payload };
      case "rejected":
        return { kind: "refused", code: error_code ?? "" };
      case "unknown":
        return lost(error_code ?? "unknown");
    }
  }

  async #pull(
    handle: string,
    confirmed: StepListener,
  ): Promise<Answer<Uint8Array>> {
    const id = this.#ids.uuid();
    const parts: Uint8Array<ArrayBuffer>[] = [];
    let received = 0;
    for (;;) {
      const outcome = await this.#session.exchange(
        "workspace_export",
        id,
        received === 0
          ? {
            step: "begin",
            handle,
            environment_id: this.#identity.environmentId,
          }
          : { step: "next", offset: received },
      );
      if (outcome.kind !== "result") return lost(outcome.kind);
      const { frame } = outcome;
      if (
        frame.type !== "workspace_export_result" ||
        !checkWorkspaceExportResult(frame.payload, received).ok
      ) return lost("the result does not answer its request");
      const { outcome: word, data, error_code } = frame.payload;
      confirmed(`${word} ${received + (data?.length ?? 0)}`);
      switch (word) {
        case "chunk":
          parts.push(new Uint8Array(data ?? []));
          received += data?.length ?? 0;
          continue;
        case "completed": {
          const whole = await new Blob(parts).arrayBuffer();
          return { kind: "data", value: new Uint8Array(whole) };
        }
        case "rejected":
        case "failed":
          return { kind: "refused", code: error_code ?? "" };
      }
    }
  }

  /** Lends a read-only handle to `use` and hands its data out only after the confirmed release. */
  async #lent<T>(
    use: (handle: string) => Promise<Answer<T>>,
  ): Promise<Lent<T>> {
    const { agentKind, environmentId, sessionId } = this.#identity;
    const preparation = this.#session.prepare({
      sessionId,
      configuration: {
        agent_kind: agentKind,
        run_id: "",
        workspace_read_only: true,
        agent_state_key: `agents-api-${sessionId}`,
        local_environment: {
          id: environmentId,
          workspace_directory: "/workspace",
          capability_sources: null,
        },
      },
    });
    const ready = await preparation.ready;
    if (ready.kind === "rejected" || ready.kind === "failed") {
      return { kind: "refused", code: ready.code };
    }
    if (ready.kind !== "ready") return lost(ready.kind);
    const answer = await use(ready.admission.handle);
    const released = await this.#released(preparation);
    return released.kind === "released"
      ? answer
      : lost(`the read access ended as ${released.kind}`);
  }

  async #released(preparation: Preparation): Promise<ReleaseOutcome> {
    try {
      return await this.#session.release(preparation);
    } catch (error) {
      if (!(error instanceof CoreRuleBroken)) throw error;
      return { kind: "lost", reason: "connection_lost" };
    }
  }
}

function lost(why: string): { kind: "unavailable"; why: string } {
  return { kind: "unavailable", why };
}
