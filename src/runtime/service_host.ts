// Owns the seam to the families that work on the bound workspace and Environment: what they offer the
// router, what the router tells them, and the exclusion facts both sides ask.
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { Telemetry } from "../platform/telemetry.ts";
import type { Envelope, InboundEnvelope } from "../protocol/envelope.ts";
import type { Delivery } from "./frame_sender.ts";

/** What the router itself has in hand; new workspace and Environment work asks it. */
export interface RuntimeWork {
  readonly runs: number;
  /** Executors that prepare, are admitted, run, close or are uncertain. */
  readonly activeExecutors: number;
  readonly idleExecutors: number;
  /** Admissions that own or work, of either profile. */
  readonly ownedAdmissions: number;
  readonly openInteractions: number;
}

/** What a service has in hand; uncertain work counts as present. */
export interface ServiceWork {
  readonly transfer: boolean;
  readonly write: boolean;
  readonly export: boolean;
  readonly reads: number;
}

/** An owner whose outcome is unknown, and what an operator can do about it. */
export interface UnknownOwner {
  /** Fixed words, and ids this daemon made. */
  readonly owner: string;
  readonly remedy: string;
}

/** Where a workspace read or an export may be aimed at. */
export interface WorkspaceTarget {
  readonly environmentId: string;
  readonly readOnly: boolean;
  /** Aborts when the handle is released or expires, or the Run ends. */
  readonly ended: AbortSignal;
  /**
   * Registers access that holds something open. A read-only handle is only released when all of it
   * was ended by the returned function.
   */
  hold(): () => void;
}

/** What the router lends to a service. */
export interface ServicePort {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly telemetry: Telemetry;
  /** Aborts when the router is closed. */
  readonly shutdown: AbortSignal;
  /** Sends within a budget; never throws. */
  sendWithin(milliseconds: number, envelope: Envelope): Promise<Delivery>;
  /** Sends a refusal as detached work; dropped when too many wait already. */
  reply(envelope: Envelope): void;
  /** Runs detached work that a shutdown waits for, under a fixed name. */
  task(name: string, work: () => Promise<void>): void;
  runtimeWork(): RuntimeWork;
  /** What all services together have in hand. */
  serviceWork(): ServiceWork;
  /** A ready, owned handle before its deadline. */
  readyHandle(handle: string): WorkspaceTarget | undefined;
  /** A Run whose `started` was delivered and that is not ending. */
  publishedRun(runId: string): WorkspaceTarget | undefined;
}

/** One family, or several, that the router does not serve itself. */
export interface RuntimeService {
  /** The frame types it takes, disjoint from the router's own and from other services. */
  readonly frames: readonly string[];
  /** Takes one frame and returns at once; slow work is a task of the port. */
  handle(envelope: InboundEnvelope): void;
  work(): ServiceWork;
  /** Owners with an unknown outcome; while there is one, no shutdown is confirmed. */
  unknownOwners(): readonly UnknownOwner[];
  /** Stops what can be stopped; called before the port's signal aborts. Never throws. */
  close(): void;
}

/** Makes a service for one connection. */
export type RuntimeServiceFactory = (port: ServicePort) => RuntimeService;

const NO_WORK: ServiceWork = {
  transfer: false,
  write: false,
  export: false,
  reads: 0,
};

/** All services of one router. */
export class ServiceHost {
  readonly #services: RuntimeService[] = [];
  readonly #byFrame = new Map<string, RuntimeService>();

  /**
   * Adds a service.
   *
   * @throws {RangeError} when a frame type is already served.
   */
  add(service: RuntimeService): void {
    for (const type of service.frames) {
      if (this.#byFrame.has(type)) {
        throw new RangeError(`Cannot serve '${type}' twice`);
      }
      this.#byFrame.set(type, service);
    }
    this.#services.push(service);
  }

  ofFrame(type: string): RuntimeService | undefined {
    return this.#byFrame.get(type);
  }

  work(): ServiceWork {
    return this.#services.map((service) => service.work()).reduce(
      (sum, work) => ({
        transfer: sum.transfer || work.transfer,
        write: sum.write || work.write,
        export: sum.export || work.export,
        reads: sum.reads + work.reads,
      }),
      NO_WORK,
    );
  }

  /** Whether an executable preparation and a start must wait. */
  excludesExecution(): boolean {
    const { transfer, write, export: exporting } = this.work();
    return transfer || write || exporting;
  }

  /** Whether a read-only preparation must wait; writes and exports do not block it. */
  excludesReadOnly(): boolean {
    return this.work().transfer;
  }

  unknownOwners(): readonly UnknownOwner[] {
    return this.#services.flatMap((service) => service.unknownOwners());
  }

  close(): void {
    for (const service of this.#services) service.close();
  }
}
