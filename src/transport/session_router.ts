// Owns the shape of what the transport drives. The dispatcher fits it; neither imports the other.
import type { InboundEnvelope } from "../protocol/envelope.ts";
import type { Heartbeat } from "../protocol/heartbeat.ts";
import type { SessionConnection } from "./connection.ts";

/** The owner of everything native behind one connection. */
export interface SessionRouter {
  /**
   * Takes one frame. A returned promise holds back the next frame: it may bound a reply, never
   * native work. An error is logged and closes nothing.
   */
  handle(envelope: InboundEnvelope): void | Promise<void>;
  /** The payload of the next heartbeat. */
  heartbeat(): Heartbeat;
  /**
   * Settles every native owner. Called again on the same router after an error or while an earlier
   * call still runs; a call during an attempt joins it. Only a fulfilled promise confirms.
   */
  shutdown(): Promise<void>;
  /**
   * Resolves when a received `device_shutdown` was carried out and what is owed was sent, at the
   * latest before the shutdown is confirmed. Stays pending when Core never asked. Never rejects.
   */
  readonly shutdownRequested: Promise<void>;
  /** Present when this router can be suspended and handed to a later connection. */
  readonly suspension?: SessionSuspension;
  /** Names of what a pending shutdown waits for; fixed words and ids, no payload. */
  waitingFor(): readonly string[];
}

/** A planned suspension: the router outlives its connection and is resumed on another one. */
export interface SessionSuspension {
  /**
   * Resolves when a suspension ends the present connection: it stands and was acknowledged, or it was
   * broken off and only a shutdown can follow. Each resume begins it anew. Never rejects.
   */
  readonly ended: Promise<"suspended" | "broken_off">;
  /** Waits for the wake signal of the present suspension. Rejects when `signal` aborts. */
  woken(signal: AbortSignal): Promise<void>;
  /**
   * Judges the first frame of a new connection. `refused` changed nothing; `lost` is a router that
   * was resumed and whose answer did not leave.
   */
  resume(
    envelope: InboundEnvelope,
    connection: SessionConnection,
  ): Promise<"resumed" | "refused" | "lost">;
}

/** A router that can be suspended. */
export type SuspendableRouter = SessionRouter & {
  readonly suspension: SessionSuspension;
};

/** Opens the router of one connection. */
export type OpenRouter = (connection: SessionConnection) => SessionRouter;
