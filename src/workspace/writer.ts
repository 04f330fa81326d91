/**
 * The one writer of the workspace in this process. It never waits: a second write at the same time
 * is refused, and after a write of unknown effect every later one is unknown too.
 */
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import { relativeComponents } from "./path.ts";
import {
  publishFile,
  type PublishOutcome,
  type PublishRefusal,
} from "./publish_file.ts";
import type { PinnedRoot } from "./root.ts";

/** What a write proved. */
export type WriteOutcome =
  | { readonly outcome: "completed" }
  | {
    readonly outcome: "rejected";
    readonly refusal: PublishRefusal | "busy" | "invalid_request";
  }
  | { readonly outcome: "unknown" };

/** What is written where. */
export interface WriteRequest {
  /** Below the root, not empty. */
  readonly components: readonly string[];
  readonly chunks: Iterable<Uint8Array>;
  /** See `Publication.mode`. */
  readonly mode: "create" | "replace";
}

/** See the file comment. */
export class WorkspaceWriter {
  readonly #root: PinnedRoot;
  readonly #ids: Ids;
  readonly #clock: Clock;
  #state: "free" | "writing" | "uncertain" = "free";

  constructor(root: PinnedRoot, ids: Ids, clock: Clock) {
    this.#root = root;
    this.#clock = clock;
    this.#ids = ids;
  }

  /** Whether an earlier write left an unknown effect; only a restart of the daemon clears it. */
  get uncertain(): boolean {
    return this.#state === "uncertain";
  }

  /** Splits a workspace-relative path of a file, or refuses it. */
  components(path: string): readonly string[] | undefined {
    const components = relativeComponents(path, this.#root.rules);
    return components?.length ? components : undefined;
  }

  /** Writes one file. Never rejects. */
  async write(request: WriteRequest): Promise<WriteOutcome> {
    if (this.#state === "uncertain") return { outcome: "unknown" };
    if (this.#state === "writing") {
      return { outcome: "rejected", refusal: "busy" };
    }
    this.#state = "writing";
    const outcome = await this.#publish(request);
    this.#state = outcome.outcome === "unknown" ? "uncertain" : "free";
    return outcome;
  }

  async #publish(request: WriteRequest): Promise<PublishOutcome> {
    try {
      return await publishFile(this.#root, {
        ...request,
        clock: this.#clock,
        temporaryName: `.agent-daemon-${this.#ids.uuid()}.tmp`,
      });
    } catch (_unexpected) {
      return { outcome: "unknown" };
    }
  }
}
