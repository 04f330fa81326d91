// Owns the one transfer of a connection in a family of `begin`, `chunk`, `commit`: the slot, the
// replies and their order. What a family admits, does and answers is its own.
import type { Span } from "../platform/telemetry.ts";
import type { Decoded } from "../protocol/decoded.ts";
import type { Envelope, InboundEnvelope } from "../protocol/envelope.ts";
import { isCanonicalUuid } from "../protocol/text.ts";
import type {
  TransferChunk,
  TransferCommit,
} from "../protocol/transfer_chunk.ts";
import type { DeclaredBody, TransferBody } from "../transfer/body.ts";
import {
  type Applied,
  Exchange,
  type ExchangeResult,
} from "../transfer/exchange.ts";
import { MAX_WAITING_REPLIES, REPLY_BUDGET_MS } from "./limits.ts";
import type { ServicePort } from "./service_host.ts";

/** A reply of the family, before the id is known. */
export type TransferReply<Code, Completed, Refused> =
  | { readonly outcome: "ready" }
  /** Total bytes taken. */
  | { readonly outcome: "received"; readonly offset: number }
  | { readonly outcome: "rejected"; readonly code: Code }
  | Applied<Completed, Refused>;

/** What makes a family out of the common exchange. */
export interface TransferFamily<
  Begin extends { readonly step: "begin" },
  Code,
  Completed,
  Refused,
> {
  readonly frame: string;
  readonly decode: (
    envelope: InboundEnvelope,
  ) => Decoded<Begin | TransferChunk | TransferCommit>;
  readonly invalidRequest: Code;
  readonly resourceUnavailable: Code;
  /** The code for a begin while the slot is taken. */
  readonly capacity: Code;
  /** Why this begin must wait for other work or is not for us. Asked after the slot was found free. */
  readonly admit: (begin: Begin) => Code | undefined;
  /** A code that goes before the one of a taken slot. */
  readonly admitBeforeCapacity: (begin: Begin) => Code | undefined;
  readonly declared: (begin: Begin) => DeclaredBody;
  readonly budget: (begin: Begin) => number;
  readonly budgetCoversApplication: boolean;
  /** Whether a reply that could not be sent ends the reception. */
  readonly lostReplyEndsTransfer: boolean;
  readonly apply: (
    begin: Begin,
    body: TransferBody,
    signal: AbortSignal,
  ) => Promise<Applied<Completed, Refused>>;
  readonly reply: (
    id: string,
    reply: TransferReply<Code, Completed, Refused>,
  ) => Envelope;
}

interface Slot<Completed, Refused> {
  readonly id: string;
  readonly exchange: Exchange<Completed, Refused>;
  readonly span: Span;
}

/** The slot of one family on one connection. */
export class TransferSlot<
  Begin extends { readonly step: "begin" },
  Code,
  Completed,
  Refused,
> {
  readonly #port: ServicePort;
  readonly #family: TransferFamily<Begin, Code, Completed, Refused>;
  #slot: Slot<Completed, Refused> | undefined;
  #uncertain = false;
  /** Replies of the pending transfer that are not written yet. */
  #waiting = 0;

  constructor(
    port: ServicePort,
    family: TransferFamily<Begin, Code, Completed, Refused>,
  ) {
    this.#port = port;
    this.#family = family;
  }

  /** Whether a transfer, an uncertain one included, is present. */
  get taken(): boolean {
    return this.#slot !== undefined;
  }

  /** Whether the last transfer had an unknown effect. */
  get uncertain(): boolean {
    return this.#uncertain;
  }

  /** Takes one frame. Without a canonical id nothing is answered and nothing happens. */
  handle(envelope: InboundEnvelope): void {
    const id = envelope.id ?? "";
    if (!isCanonicalUuid(id)) return;
    const family = this.#family;
    const decoded = family.decode(envelope);
    if (!decoded.ok) {
      // A malformed frame of the pending transfer ends it; the terminal result is the answer.
      if (this.#slot?.id === id) this.#slot.exchange.close();
      else this.#reject(id, family.invalidRequest);
      return;
    }
    const message = decoded.value;
    if (message.step === "begin") {
      return this.#begin(id, message, envelope.trace);
    }
    const slot = this.#slot;
    if (slot?.id !== id) return this.#reject(id, family.resourceUnavailable);
    if (message.step === "commit") return slot.exchange.commit();
    const offset = slot.exchange.chunk(message.offset ?? 0, message.data);
    if (offset !== undefined) {
      this.#progress(slot, { outcome: "received", offset });
    }
  }

  /** Ends a reception, or asks an application to stop; the transfer stays owned until it did. */
  close(): void {
    this.#slot?.exchange.close();
  }

  #begin(id: string, begin: Begin, trace: string | undefined): void {
    const family = this.#family;
    if (this.#slot?.id === id) return;
    const early = family.admitBeforeCapacity(begin);
    if (early !== undefined) return this.#reject(id, early);
    if (this.#slot) return this.#reject(id, family.capacity);
    const refusal = family.admit(begin);
    if (refusal !== undefined) return this.#reject(id, refusal);
    const exchange = new Exchange<Completed, Refused>({
      declared: family.declared(begin),
      clock: this.#port.clock,
      budget: family.budget(begin),
      budgetCoversApplication: family.budgetCoversApplication,
      apply: (body, signal) => family.apply(begin, body, signal),
    });
    const span = this.#port.telemetry.begin("transfer", trace, {
      family: family.frame,
    });
    const slot = { id, exchange, span };
    this.#slot = slot;
    this.#progress(slot, { outcome: "ready" });
    this.#port.task(`${family.frame} transfer`, () => this.#settle(slot));
  }

  /** Frees the slot, unless the effect is unknown, and then sends the one terminal result. */
  async #settle(slot: Slot<Completed, Refused>): Promise<void> {
    const result = await slot.exchange.result;
    this.#record(slot, result.outcome);
    if (result.outcome === "unknown") {
      this.#uncertain = true;
      this.#port.log.error("transfer outcome unknown", {
        family: this.#family.frame,
        id: slot.id,
      });
    } else this.#slot = undefined;
    await this.#port.sendWithin(
      REPLY_BUDGET_MS,
      this.#family.reply(slot.id, this.#terminal(result)),
    );
  }

  /** An unknown effect has an end too: the transfer is over, the slot stays taken. */
  #record(slot: Slot<Completed, Refused>, outcome: string): void {
    slot.span.end(outcome);
    this.#port.telemetry.count("transfer_bytes", slot.exchange.received, {
      family: this.#family.frame,
    });
  }

  #terminal(
    result: ExchangeResult<Completed, Refused>,
  ): TransferReply<Code, Completed, Refused> {
    return result.outcome === "invalid"
      ? { outcome: "rejected", code: this.#family.invalidRequest }
      : result;
  }

  #progress(
    slot: Slot<Completed, Refused>,
    reply: TransferReply<Code, Completed, Refused>,
  ): void {
    const { frame, lostReplyEndsTransfer } = this.#family;
    const lost = () => {
      if (lostReplyEndsTransfer) slot.exchange.close();
    };
    if (this.#waiting >= MAX_WAITING_REPLIES) return lost();
    this.#waiting++;
    this.#port.task(`reply ${frame}`, async () => {
      const delivery = await this.#port.sendWithin(
        REPLY_BUDGET_MS,
        this.#family.reply(slot.id, reply),
      );
      this.#waiting--;
      if (delivery !== "delivered") lost();
    });
  }

  #reject(id: string, code: Code): void {
    this.#port.reply(this.#family.reply(id, { outcome: "rejected", code }));
  }
}
