// Owns the two orders to stop: `prompt_cancel` for one Run, `device_shutdown` for everything.
import * as z from "zod";
import { accepted, type Decoded, refused } from "./decoded.ts";
import type { InboundEnvelope } from "./envelope.ts";
import { omitted, readPayload, type Wire, wireObject } from "./wire_object.ts";

/** Schema of `prompt_cancel`. */
export const promptCancelWire = wireObject({
  delivery_id: omitted(z.string()),
});
/** Payload of `prompt_cancel`, Core to Runtime, with the Run id. No delivery id: no receipt. */
export type PromptCancel = Wire<typeof promptCancelWire>;

/** Schema of `device_shutdown`. */
export const deviceShutdownWire = wireObject({ reason: omitted(z.string()) });
/** Payload of `device_shutdown`, Core to Runtime. `reason` is for the log only. */
export type DeviceShutdown = Wire<typeof deviceShutdownWire>;

/** Reads `prompt_cancel`; the payload may be absent. */
export function decodePromptCancel(
  envelope: InboundEnvelope,
): Decoded<PromptCancel> {
  const value = readPayload(promptCancelWire, envelope);
  return value === undefined
    ? refused("the prompt_cancel payload is malformed")
    : accepted(value);
}

/** Reads `device_shutdown`; the payload may be absent. */
export function decodeDeviceShutdown(
  envelope: InboundEnvelope,
): Decoded<DeviceShutdown> {
  const value = readPayload(deviceShutdownWire, envelope);
  return value === undefined
    ? refused("the device_shutdown payload is malformed")
    : accepted(value);
}
