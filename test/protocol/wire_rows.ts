// Owns the running of accept and refuse tables: each row is a step of its own, so that a failure
// names its row.
import { assertEquals, fail } from "@std/assert";
import type { Decoded } from "../../src/protocol/decoded.ts";
import {
  decodeEnvelope,
  type InboundEnvelope,
} from "../../src/protocol/envelope.ts";

/** Rows by name. */
export type Rows<T> = Readonly<Record<string, T>>;

/** The envelope of a text that must be one. */
export function inboundText(text: string): InboundEnvelope {
  const envelope = decodeEnvelope(text);
  return envelope.ok ? envelope.value : fail(envelope.reason);
}

/** A received frame. `undefined` leaves payload or id out. */
export function inbound(
  type: string,
  payload: unknown,
  id: string | undefined = "id",
): InboundEnvelope {
  return inboundText(JSON.stringify({ type, id, payload }));
}

/** Every row decodes; `check` may look at the value. */
export async function acceptEach<T, V>(
  t: Deno.TestContext,
  rows: Rows<T>,
  decode: (row: T) => Decoded<V>,
  check: (value: V, row: T) => void = () => {},
): Promise<void> {
  for (const [name, row] of Object.entries(rows)) {
    await t.step(`accepts: ${name}`, () => {
      const decoded = decode(row);
      if (!decoded.ok) fail(decoded.reason);
      check(decoded.value, row);
    });
  }
}

/** Every row is refused. */
export async function refuseEach<T>(
  t: Deno.TestContext,
  rows: Rows<T>,
  decode: (row: T) => Decoded<unknown>,
): Promise<void> {
  for (const [name, row] of Object.entries(rows)) {
    await t.step(`refuses: ${name}`, () => {
      assertEquals(decode(row).ok, false);
    });
  }
}

/** The value of a result that must be one. */
export function valueOf<T>(decoded: Decoded<T>): T {
  return decoded.ok ? decoded.value : fail(decoded.reason);
}
