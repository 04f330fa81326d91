// Owns suspension fencing on one router: whether it may be suspended now, the drain behind its closed
// admission, the acknowledgement, and the resume on a later connection. A suspended router keeps its
// idle Executors; nothing else of it outlives its connection.
import { within } from "../platform/clock.ts";
import { type Deferred, deferred } from "../platform/deferred.ts";
import type { InboundEnvelope } from "../protocol/envelope.ts";
import { runtimeFrame } from "../protocol/frames.ts";
import {
  decodeEnvironmentQuiesce,
  decodeEnvironmentResume,
  type EnvironmentQuiesce,
  type RefusedSuspension,
  type SuspensionErrorCode,
} from "../protocol/suspension.ts";
import type { FrameSender } from "./frame_sender.ts";
import { REPLY_BUDGET_MS, SUSPENSION_DRAIN_MS } from "./limits.ts";
import type { RouterOwners } from "./owners.ts";
import { untilAborted } from "./waiting.ts";

/** What a process knows of its suspensions; shared by all its routers. */
export interface SuspensionControl {
  /** The one Environment this daemon serves. */
  readonly environmentId: string;
  /** The suspension that was resumed or rolled back last: all that a repeated resume is judged by. */
  lastResumed: string | undefined;
  /**
   * Forgets earlier wake signals and names the suspension that the next one must be for.
   *
   * @throws when that cannot be stored; the suspension is broken off then.
   */
  arm(suspendId: string): Promise<void>;
  /**
   * No suspension can be woken any more.
   *
   * @throws when that cannot be stored; wake signals are without effect all the same.
   */
  disarm(): Promise<void>;
}

/**
 * Why a quiesce ends its connection: the suspension stands and was acknowledged, or it was broken off
 * after the admission had been closed, so that only a shutdown can follow.
 */
export type SuspensionEnd = "suspended" | "broken_off";

/**
 * What a first frame came to. `refused`: it does not resume this suspension, and nothing changed.
 * `lost`: the router is resumed and its answer did not leave, as when any connection ends.
 */
export type ResumeOutcome = "resumed" | "refused" | "lost";

type ReplyType = "environment_quiesced" | "environment_resumed";

/** See the file comment. */
export class Suspension {
  readonly #owners: RouterOwners;
  readonly #control: SuspensionControl;
  /** The suspension that was acknowledged and not resumed. */
  #suspendId: string | undefined;
  #armed = false;
  #ended: Deferred<SuspensionEnd> = deferred();

  constructor(owners: RouterOwners, control: SuspensionControl) {
    this.#owners = owners;
    this.#control = control;
  }

  /** Resolves when a quiesce ends the present connection. A resume begins it anew. Never rejects. */
  get ended(): Promise<SuspensionEnd> {
    return this.#ended.promise;
  }

  /** Handles `environment_quiesce`: a refusal changes nothing, anything else closes the admission. */
  handleQuiesce(envelope: InboundEnvelope): void {
    const { admissions, pool, scope } = this.#owners;
    const decoded = decodeEnvironmentQuiesce(envelope);
    const ids = decoded.ok ? decoded.value : decoded;
    if (!decoded.ok || !this.#isOurs(ids)) {
      const refusal = reply("environment_quiesced", envelope.id, ids, {
        code: "invalid_request",
      });
      return scope.sender.reply(refusal);
    }
    if (scope.phase !== "open" || this.#busy()) {
      return scope.sender.reply(busyReply(envelope.id, ids));
    }
    scope.suspend();
    admissions.stopTimers();
    pool.pauseIdle();
    scope.log.info("suspension begun");
    this.#fence(envelope.id, decoded.value);
  }

  /**
   * Handles `environment_resume` on a connection that serves: it never restores anything. Accepted
   * when it repeats the last resume, or rolls back a suspension that this process may not know.
   */
  handleResume(envelope: InboundEnvelope): void {
    const decoded = decodeEnvironmentResume(envelope);
    const ids = decoded.ok ? decoded.value : decoded;
    const accepted = decoded.ok && this.#isOurs(ids) &&
      (decoded.value.rollback === true ||
        ids.suspend_id === this.#control.lastResumed);
    if (accepted) this.#control.lastResumed = ids.suspend_id;
    this.#owners.scope.sender.reply(
      reply(
        "environment_resumed",
        envelope.id,
        ids,
        accepted ? undefined : { code: "not_suspended" },
      ),
    );
  }

  /** Judges the first frame of a new connection; a match takes the router over to `sender`. */
  async resume(
    envelope: InboundEnvelope,
    sender: FrameSender,
  ): Promise<ResumeOutcome> {
    const { pool, scope } = this.#owners;
    const ids = this.#resumption(envelope);
    if (ids === undefined || scope.phase !== "suspended") return "refused";
    this.#suspendId = undefined;
    this.#ended = deferred();
    scope.sender.switchTo(sender);
    scope.resume();
    pool.resumeIdle();
    this.#control.lastResumed = ids.suspend_id;
    scope.log.info("suspension resumed");
    const delivery = await scope.sender.sendWithin(
      REPLY_BUDGET_MS,
      reply("environment_resumed", envelope.id, ids),
    );
    await this.forget();
    return delivery === "delivered" ? "resumed" : "lost";
  }

  /** Makes wake signals without effect when a suspension was armed. Never throws. */
  async forget(): Promise<void> {
    if (!this.#armed) return;
    this.#armed = false;
    try {
      await this.#control.disarm();
    } catch (error) {
      this.#report("suspension control not disarmed", error);
    }
  }

  /** The ids of a frame that resumes the present suspension; whether it rolls back is no matter. */
  #resumption(envelope: InboundEnvelope): RefusedSuspension | undefined {
    if (envelope.type !== "environment_resume") return undefined;
    const decoded = decodeEnvironmentResume(envelope);
    return decoded.ok && this.#isOurs(decoded.value) &&
        decoded.value.suspend_id === this.#suspendId
      ? decoded.value
      : undefined;
  }

  async #fence(
    id: string | undefined,
    request: EnvironmentQuiesce,
  ): Promise<void> {
    const drained = await this.#drained();
    const { scope } = this.#owners;
    if (!scope.open) return; // nothing is sent any more
    // It waited for all tasks; from here on it is one itself, so that a shutdown waits for its end.
    scope.tasks.run(
      "suspension",
      () => drained ? this.#suspend(id, request) : this.#breakOff(id, request),
    );
  }

  /** Waits for everything that was begun before, its receipts included. */
  async #drained(): Promise<boolean> {
    const { scope } = this.#owners;
    try {
      await within(
        scope.clock,
        SUSPENSION_DRAIN_MS,
        "suspension drain",
        untilAborted(scope.shutdown, scope.tasks.idle()),
      );
    } catch (error) {
      this.#report("suspension not drained", error);
      return false;
    }
    return scope.phase === "suspended" && !this.#busy();
  }

  async #suspend(
    id: string | undefined,
    request: EnvironmentQuiesce,
  ): Promise<void> {
    const { scope } = this.#owners;
    this.#control.lastResumed = undefined;
    this.#armed = true;
    try {
      await this.#control.arm(request.suspend_id);
    } catch (error) {
      this.#report("suspension control not armed", error);
      return await this.#breakOff(id, request);
    }
    if (scope.phase !== "suspended") return await this.#breakOff(id, request);
    const delivery = await scope.sender.sendWithin(
      REPLY_BUDGET_MS,
      reply("environment_quiesced", id, request),
    );
    if (delivery !== "delivered" || scope.phase !== "suspended") {
      await this.forget();
      return this.#ended.resolve("broken_off");
    }
    this.#suspendId = request.suspend_id;
    this.#ended.resolve("suspended");
  }

  /** The admission stays closed: what was fenced off cannot be told from what never came. */
  async #breakOff(
    id: string | undefined,
    request: EnvironmentQuiesce,
  ): Promise<void> {
    await this.forget();
    const { scope } = this.#owners;
    await scope.sender.sendWithin(REPLY_BUDGET_MS, busyReply(id, request));
    this.#ended.resolve("broken_off");
  }

  #isOurs({ environment_id }: RefusedSuspension): boolean {
    return environment_id === this.#control.environmentId;
  }

  /** Anything but idle Executors of this Environment; what is uncertain counts as present. */
  #busy(): boolean {
    const { admissions, pool, runs, services } = this.#owners;
    const work = services.work();
    return work.transfer || work.write || work.export || work.reads > 0 ||
      services.unknownOwners().length > 0 ||
      runs.count > 0 || runs.openInteractions > 0 ||
      admissions.all().some(({ busy, owns }) => busy || owns) ||
      pool.all().some((executor) =>
        !executor.idle || executor.retired !== undefined ||
        executor.identity.environmentId !== this.#control.environmentId
      );
  }

  #report(event: string, error: unknown): void {
    this.#owners.scope.log.warn(event, {
      error: error instanceof Error ? error : undefined,
    });
  }
}

function busyReply(id: string | undefined, ids: RefusedSuspension) {
  return reply("environment_quiesced", id, ids, { code: "resource_busy" });
}

/** Accepted without a refusal. The ids are those of the request, as far as they could be read. */
function reply(
  type: ReplyType,
  id: string | undefined,
  { environment_id, suspend_id }: RefusedSuspension,
  refusal?: { readonly code: SuspensionErrorCode },
) {
  return runtimeFrame(type, id, {
    environment_id,
    suspend_id,
    accepted: refusal === undefined,
    ...(refusal === undefined ? {} : { error_code: refusal.code }),
  });
}
