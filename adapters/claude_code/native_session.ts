/** Decides which native Session a preparation continues or begins, from what the home holds. */
import type { PreparedConfiguration } from "../../src/harness/contract.ts";
import { isCanonicalUuid } from "../../src/protocol/text.ts";
import { countHistories, type NativeHome } from "./native_home.ts";

/** What the launch says about the native Session. */
export type NativeSession =
  | { readonly mode: "resume"; readonly id: string }
  /** A new Session whose identity is fixed in advance, so that recovery needs no record. */
  | { readonly mode: "new"; readonly id: string }
  /** A new Session named by the program: ours is not a UUID. It can be resumed, not recovered. */
  | { readonly mode: "unnamed" };

/** The history that a preparation must continue is missing, foreign or ambiguous. */
export class HistoryUnavailable extends Error {
  override readonly name = "HistoryUnavailable";
}

/**
 * Never falls back from a required history to a new Session, and never adopts a history that
 * nobody asked to continue.
 *
 * @throws {HistoryUnavailable}
 */
export async function chooseSession(
  home: NativeHome,
  configuration: PreparedConfiguration,
): Promise<NativeSession> {
  const recorded = configuration.agentSessionId;
  const own = isCanonicalUuid(configuration.sessionId)
    ? configuration.sessionId
    : undefined;
  const wanted = recorded ??
    (configuration.requireExistingNativeSession ? own : undefined);
  if (
    wanted === undefined && configuration.requireExistingNativeSession
  ) {
    throw new HistoryUnavailable("This Session has no recoverable history");
  }
  if (wanted !== undefined) {
    if (!isCanonicalUuid(wanted)) {
      throw new HistoryUnavailable("The recorded native Session is not one");
    }
    const found = await countHistories(home, wanted);
    if (found === 1) return { mode: "resume", id: wanted };
    throw new HistoryUnavailable(
      found === 0
        ? "The native history is missing"
        : "The native history is ambiguous",
    );
  }
  if (own === undefined) return { mode: "unnamed" };
  if (await countHistories(home, own) > 0) {
    throw new HistoryUnavailable("A history exists that was not asked for");
  }
  return { mode: "new", id: own };
}
