// Owns the read-only profile of `execution_prepare`: a handle for workspace reads without a Harness
// process. `released` and `expired` are published only after the local close was confirmed.
import { within } from "../platform/clock.ts";
import type { Configuration } from "../protocol/configuration.ts";
import type {
  ExecutionPrepare,
  PrepareErrorCode,
} from "../protocol/execution.ts";
import {
  type Admission,
  type AdmissionTarget,
  type HandleState,
  transition,
} from "./admission.ts";
import type { Admissions } from "./admissions.ts";
import type { WorkspaceBinding } from "./binding.ts";
import type { HarnessKinds } from "./configuration_judgement.ts";
import { prepareFingerprint } from "./fingerprint.ts";
import {
  CLOSE_BUDGET_MS,
  MAX_ADMISSION_RECORDS,
  MAX_OWNING_ADMISSIONS,
} from "./limits.ts";
import type { RouterScope } from "./scope.ts";
import type { ServiceHost } from "./service_host.ts";

type ReadOnlyTarget = Extract<AdmissionTarget, { kind: "read_only" }>;

/** The parts the profile works with. */
export interface ReadOnlyParts {
  readonly scope: RouterScope;
  readonly admissions: Admissions;
  readonly harnesses: HarnessKinds;
  readonly binding: WorkspaceBinding | undefined;
  readonly services: ServiceHost;
}

/** Everything the profile may name; any other member asks for an execution. */
const PROFILE_MEMBERS: ReadonlySet<string> = new Set([
  "agent_kind",
  "run_id",
  "workspace_read_only",
  "agent_state_key",
  "local_environment",
]);

/** See the file comment. */
export class ReadOnlyPreparations {
  readonly #parts: ReadOnlyParts;
  /** Ends an opening that is not wanted any more. */
  readonly #opening = new WeakMap<Admission, AbortController>();

  constructor(parts: ReadOnlyParts) {
    this.#parts = parts;
  }

  /** Admits a request, or says why not. */
  prepare(
    request: ExecutionPrepare,
    origin: { readonly requestId: string; readonly trace: string },
  ): PrepareErrorCode | undefined {
    const { scope, admissions, services } = this.#parts;
    const refusal = this.#refusal(request);
    if (refusal !== undefined) return refusal;
    if (scope.phase === "draining" || services.excludesReadOnly()) {
      return "resource_unavailable";
    }
    admissions.prune();
    const fingerprint = prepareFingerprint(request);
    const known = admissions.ofRequest(origin.requestId);
    if (known !== undefined) {
      if (known.grant.fingerprint !== fingerprint) return "request_conflict";
      this.#republish(known);
      return undefined;
    }
    if (
      admissions.owning >= MAX_OWNING_ADMISSIONS ||
      admissions.count >= MAX_ADMISSION_RECORDS
    ) return "preparation_capacity";
    const target: ReadOnlyTarget = {
      kind: "read_only",
      environmentId: request.configuration.local_environment?.id ?? "",
      resource: undefined,
    };
    const admission = admissions.grant(
      { ...origin, fingerprint, reused: false, target },
      (expired) => this.#end(expired, target, "expired"),
    );
    scope.tasks.run(
      "prepare read-only access",
      () => this.#open(admission, target),
    );
    return undefined;
  }

  /** Handles the release of a read-only handle: one request, at most one close attempt. */
  release(admission: Admission): void {
    const { target } = admission.grant;
    if (target.kind !== "read_only") return;
    if (!this.#end(admission, target, "released")) this.#republish(admission);
  }

  /** Gives up every read-only handle of the connection and closes what is not being closed. */
  async closeAll(): Promise<void> {
    const closings: Promise<void>[] = [];
    for (const admission of this.#parts.admissions.all()) {
      const { target } = admission.grant;
      if (target.kind !== "read_only" || !admission.owns) continue;
      admission.stopTimer();
      this.#opening.get(admission)?.abort();
      transition(
        admission,
        ["preparing", "ready"],
        "failed",
        "connection_closed",
      );
      if (!admission.busy) {
        closings.push(this.#close(admission, target, "failed"));
      }
    }
    await Promise.all(closings);
  }

  #refusal(
    { configuration }: ExecutionPrepare,
  ): PrepareErrorCode | undefined {
    const { harnesses, binding } = this.#parts;
    const harness = harnesses.get(configuration.agent_kind);
    if (harness === undefined || !harness.available) {
      return "resource_unavailable";
    }
    const { declaration } = harness;
    if (declaration.preparation !== "supported") {
      return "unsupported_preparation";
    }
    if (
      declaration.workspace_read_preparation !== "supported" ||
      !isProfile(configuration)
    ) return "unsupported_read_preparation";
    const { local_environment: local } = configuration;
    if (local === undefined || local.id === "" || binding === undefined) {
      return "invalid_configuration";
    }
    return binding.refuseReadOnly(local, configuration.agent_state_key ?? "");
  }

  async #open(admission: Admission, target: ReadOnlyTarget): Promise<void> {
    const { admissions, binding, scope } = this.#parts;
    const opening = new AbortController();
    this.#opening.set(admission, opening);
    admission.busy = true;
    const announced = await admissions.publish(admission, admission.snapshot());
    let failed = announced !== "delivered";
    if (!failed && admission.state === "preparing" && binding !== undefined) {
      try {
        const { resource, error } = await binding.openReadOnly(opening.signal);
        target.resource = resource;
        failed = error !== undefined;
      } catch (error) {
        failed = true;
        scope.log.warn("read-only preparation failed", {
          error: error instanceof Error ? error : undefined,
        });
      }
    }
    admission.busy = false;
    if (!failed && scope.open) {
      const ready = transition(admission, ["preparing"], "ready");
      if (ready !== undefined) {
        const publication = await admissions.publish(admission, ready);
        if (publication === "delivered" || publication === "superseded") return;
        const lost = transition(
          admission,
          ["ready"],
          "failed",
          "status_delivery_failed",
        );
        if (lost === undefined) return; // a release took over meanwhile
      }
    }
    transition(admission, ["preparing"], "failed", "preparation_failed");
    admission.stopTimer();
    await this.#close(admission, target, admission.state);
  }

  /** Starts the end of a handle; the status waits for the close. */
  #end(
    admission: Admission,
    target: ReadOnlyTarget,
    to: "released" | "expired",
  ): boolean {
    if (admission.busy && admission.state !== "preparing") return false;
    const from: HandleState[] = admission.owns && to === "released"
      ? ["preparing", "ready", "failed"]
      : ["preparing", "ready"];
    if (transition(admission, from, to) === undefined) return false;
    admission.stopTimer();
    this.#opening.get(admission)?.abort();
    if (admission.busy) return true; // the opening task closes what it brings
    this.#parts.scope.tasks.run(
      "close read-only access",
      () => this.#close(admission, target, to),
    );
    return true;
  }

  /** One close attempt and its publication. Failure keeps the resource and its capacity. */
  async #close(
    admission: Admission,
    target: ReadOnlyTarget,
    to: HandleState,
  ): Promise<void> {
    const { admissions, scope } = this.#parts;
    admission.busy = true;
    let closed = true;
    try {
      const { clock } = scope;
      const until = clock.monotonic() + CLOSE_BUDGET_MS;
      const wait = (what: string, work: Promise<void>) =>
        within(clock, Math.max(0, until - clock.monotonic()), what, work);
      await wait("read-only access", admission.access.idle());
      const { resource } = target;
      if (resource !== undefined) {
        await wait("read-only close", Promise.try(() => resource.close()));
      }
    } catch (error) {
      closed = false;
      scope.log.warn("preparation cleanup incomplete", {
        handle: admission.grant.handle,
        error: error instanceof Error ? error : undefined,
      });
    }
    admission.busy = false;
    if (closed) target.resource = undefined;
    admission.owns = !closed;
    const snapshot = closed
      ? transition(admission, [admission.state], to, admission.errorCode)
      : transition(
        admission,
        [admission.state],
        "failed",
        "cleanup_unconfirmed",
      );
    if (snapshot !== undefined) await admissions.publish(admission, snapshot);
  }

  /** Repeats what the handle is, but never a release that is not confirmed yet. */
  #republish(admission: Admission): void {
    if (admission.busy && admission.state !== "preparing") return;
    if (admission.republishing) return; // the one under way says the same
    admission.republishing = true;
    const { admissions, scope } = this.#parts;
    scope.tasks.run("republish preparation status", async () => {
      await admissions.publish(admission, admission.snapshot());
      admission.republishing = false;
    });
  }
}

function isProfile(configuration: Configuration): boolean {
  return configuration.run_id === "" &&
    configuration.local_environment !== undefined &&
    (configuration.agent_state_key ?? "") !== "" &&
    Object.keys(configuration).every((member) => PROFILE_MEMBERS.has(member));
}
