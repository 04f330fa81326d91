// Owns `heartbeat`: liveness, and the declaration of every engine this daemon serves.
import * as z from "zod";
import { capabilitiesWire } from "./capabilities.ts";
import { accepted, type Decoded, refused } from "./decoded.ts";
import type { InboundEnvelope } from "./envelope.ts";
import {
  integer,
  list,
  omitted,
  readPayload,
  type Wire,
  wireObject,
} from "./wire_object.ts";

/** One engine kind with its complete declaration, also when it is unavailable. */
export const supportedAgentKindWire = wireObject({
  kind: z.string().min(1),
  available: z.boolean(),
  version: omitted(z.string()),
  capabilities: capabilitiesWire,
});
/** One engine kind of a heartbeat. */
export type SupportedAgentKind = Wire<typeof supportedAgentKindWire>;

/** `heartbeat`, Runtime to Core, without an id. `ts` is Unix seconds. */
export const heartbeatWire = wireObject({
  ts: integer,
  active_requests: integer,
  daemon_version: omitted(z.string()),
  supported_agent_kinds: omitted(list(supportedAgentKindWire)),
});
/** Payload of `heartbeat`. An absent kind is not advertised. */
export type Heartbeat = Wire<typeof heartbeatWire>;

/** Reads a heartbeat. A refusal ends the admission snapshot of the connection at Core. */
export function decodeHeartbeat(
  envelope: InboundEnvelope,
): Decoded<Heartbeat> {
  const value = readPayload(heartbeatWire, envelope);
  return value === undefined
    ? refused("the heartbeat is malformed")
    : accepted(value);
}
