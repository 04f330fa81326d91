/**
 * The host's half of the control protocol on the program's pipes: our requests and their answers,
 * and our answers to the program's requests. Decides nothing about Turns.
 */
import type { Child } from "../../src/harness/child.ts";
import { type Clock, within } from "../../src/platform/clock.ts";
import { type Deferred, deferred } from "../../src/platform/deferred.ts";
import type { Ids } from "../../src/platform/ids.ts";
import type { NativeFrames } from "./native_frames.ts";

/** The program refused a control request. Carries the subtype only: the reason may hold secrets. */
export class ControlRefused extends Error {
  override readonly name = "ControlRefused";
  constructor(readonly subtype: string) {
    super(`The program refused the control request ${subtype}`);
  }
}

/** Our requests in flight on one process. */
export class ControlChannel {
  readonly #pending = new Map<string, Deferred<unknown>>();
  #ended: Error | undefined;

  constructor(
    private readonly child: Child,
    private readonly clock: Clock,
    private readonly ids: Ids,
  ) {}

  /**
   * Sends a request and waits for its answer at most `milliseconds`, the write included.
   *
   * @throws {ControlRefused} for an error answer, {@linkcode DeadlineExceeded} without one, and
   * the write's error or the channel's end.
   */
  async request(
    subtype: string,
    members: Readonly<Record<string, unknown>>,
    milliseconds: number,
  ): Promise<unknown> {
    if (this.#ended) throw this.#ended;
    const id = this.ids.uuid();
    const answer = deferred<unknown>();
    this.#pending.set(id, answer);
    try {
      const written = this.child.write({
        type: "control_request",
        request_id: id,
        request: { subtype, ...members },
      });
      const answered = written.then(() => answer.promise);
      const outcome = await within(
        this.clock,
        milliseconds,
        `The control request ${subtype}`,
        answered,
      ) as NativeFrames["control_response"]["response"];
      if (outcome.subtype !== "success") throw new ControlRefused(subtype);
      return outcome.response;
    } finally {
      this.#pending.delete(id);
    }
  }

  /** Takes an answer. Echoes of our own answers and late ones have no waiter and are ignored. */
  answered(frame: NativeFrames["control_response"]): void {
    this.#pending.get(frame.response.request_id)?.resolve(frame.response);
  }

  /** Answers a request of the program. */
  reply(requestId: string, response: unknown): Promise<void> {
    return this.child.write({
      type: "control_response",
      response: { subtype: "success", request_id: requestId, response },
    });
  }

  /** Tells the program that its request is not served. */
  refuse(requestId: string, reason: string): Promise<void> {
    return this.child.write({
      type: "control_response",
      response: { subtype: "error", request_id: requestId, error: reason },
    });
  }

  /** No answer comes any more. */
  end(reason: Error): void {
    this.#ended ??= reason;
    for (const answer of this.#pending.values()) answer.reject(reason);
  }
}
