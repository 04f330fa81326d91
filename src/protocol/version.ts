// Owns the wire version and the one rule for comparing it.

/**
 * The version of this wire, sent as the `version` query parameter of the dial. Independent of the
 * build version in the heartbeat. Both ends deploy the same value.
 */
export const PROTOCOL_VERSION = "0.12.0";

/** Whether a peer speaks this wire: the same bytes, no ranges, prefixes or trimming. */
export function isCompatibleVersion(version: string): boolean {
  return version === PROTOCOL_VERSION;
}
