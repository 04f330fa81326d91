// Owns one attempt to open a socket: credential, bootstrap when it is due, dial. An exception on the
// way is a transient refusal.
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { PROTOCOL_VERSION } from "../protocol/version.ts";
import { bootstrap, type BootstrapAnswer } from "./bootstrap.ts";
import type { FactsRecorder } from "./connection_facts.ts";
import type { CoreUrl } from "./core_url.ts";
import { dial } from "./dial.ts";
import { DIALS_PER_BOOTSTRAP } from "./limits.ts";
import type { Network } from "./network.ts";
import { localRefusal, type Refusal } from "./refusal.ts";
import type { WireSocket } from "./wire_socket.ts";

/** What an attempt needs; the fields are described at `SessionLoopOptions`. */
export interface SocketOpenerOptions {
  readonly core: CoreUrl;
  readonly deviceId: string;
  readonly userAgent: string;
  readonly network: Network;
  readonly clock: Clock;
  readonly log: Log;
  readonly readCredential: () => string | Promise<string>;
  /** The two requests; the real ones unless a test gives others. */
  readonly requests?: {
    readonly bootstrap: typeof bootstrap;
    readonly dial: typeof dial;
  };
}

/** The outcome of an attempt. */
export type Opened =
  | {
    readonly ok: true;
    readonly socket: WireSocket;
    readonly heartbeatInterval: number;
  }
  | { readonly ok: false; readonly refusal: Refusal };

/** See the file comment. */
export class SocketOpener {
  readonly #options: SocketOpenerOptions;
  readonly #facts: FactsRecorder;
  /** The answer in use; absent when bootstrap has to be asked. */
  #bootstrap: BootstrapAnswer | undefined;
  #failedDials = 0;

  constructor(options: SocketOpenerOptions, facts: FactsRecorder) {
    this.#options = options;
    this.#facts = facts;
  }

  /** One attempt, ended early by `signal`. Never throws. */
  async open(signal: AbortSignal): Promise<Opened> {
    try {
      return await this.#tryOpen(signal);
    } catch (error) {
      this.#report("attempt_failed_internally", error, signal);
      return { ok: false, refusal: localRefusal("internal") };
    }
  }

  /** The next attempt asks bootstrap again. */
  forgetBootstrap(): void {
    this.#bootstrap = undefined;
  }

  async #tryOpen(signal: AbortSignal): Promise<Opened> {
    const { bootstrap: ask, dial: open } = this.#options.requests ??
      { bootstrap, dial };
    this.#facts.phase("reading_credential");
    const credential = await this.#readCredential(signal);
    if (credential === undefined) {
      return { ok: false, refusal: localRefusal("credential_unreadable") };
    }
    const common = { ...this.#options, credential, signal };
    if (!this.#bootstrap) {
      this.#facts.phase("bootstrapping");
      const outcome = await ask(common);
      if (!outcome.ok) return outcome;
      this.#bootstrap = outcome.answer;
      this.#failedDials = 0;
    }
    const { wsUrl, heartbeatInterval } = this.#bootstrap;
    this.#facts.phase("dialling");
    const outcome = await open({ ...common, wsUrl, version: PROTOCOL_VERSION });
    if (outcome.ok) {
      this.#failedDials = 0;
      return { ...outcome, heartbeatInterval };
    }
    this.#countFailedDial(outcome.refusal);
    return outcome;
  }

  async #readCredential(signal: AbortSignal): Promise<string | undefined> {
    try {
      return await this.#options.readCredential();
    } catch (error) {
      this.#report("credential_unreadable", error, signal);
      return undefined;
    }
  }

  #countFailedDial(refusal: Refusal): void {
    if (refusal.kind === "permanent") return;
    this.#failedDials++;
    if (this.#failedDials >= DIALS_PER_BOOTSTRAP) this.#bootstrap = undefined;
  }

  #report(event: string, error: unknown, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#options.log.error(event, {
      error: error instanceof Error ? error : "not an error",
    });
  }
}
