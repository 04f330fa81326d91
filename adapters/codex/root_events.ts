/** Gives a notification of the root Turn to the parts of the Turn that it concerns, in their order. */
import { itemEvent } from "./native_schema.ts";
import type { TurnParts } from "./turn_parts.ts";

/** @throws {InvalidObservation} when a tool item cannot be reported. */
export function rootNotified(
  parts: TurnParts,
  method: string,
  params: unknown,
): void {
  if (method === "item/started" || method === "item/completed") {
    const event = itemEvent.safeParse(params);
    if (event.success) {
      const { item } = event.data;
      const stage = method === "item/completed" ? "completed" : "started";
      // The receipts first: a full observer must not make a known application unknown.
      if (stage === "completed" && item.type === "userMessage") {
        parts.steering.consumed(item);
      }
      if (stage === "completed" && item.type === "dynamicToolCall") {
        parts.functions.completed(item);
      }
      parts.children.rootItem(item, stage);
    }
  }
  parts.observation.notified(method, params);
}
