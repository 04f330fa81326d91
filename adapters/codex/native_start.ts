/** The one submission of a Turn's input, and what is known of it afterwards. */
import { WriteNotStarted } from "../../src/harness/child.ts";
import { within } from "../../src/platform/clock.ts";
import { turnStartAnswer } from "./native_schema.ts";
import { RpcError } from "./rpc.ts";
import type { TurnHost } from "./turn_host.ts";

/** Codes of a refusal that proves that nothing of the request was begun. */
const DEFINITE_REFUSALS: readonly number[] = [-32600, -32602];

/** What became of the start. `uncertain` may have submitted the input. */
export type Begun =
  | { readonly outcome: "begun"; readonly error?: undefined }
  | { readonly outcome: "unsubmitted" | "uncertain"; readonly error: Error };

/** How the native id of the Turn becomes known. */
export interface NativeIdentity {
  bind(id: string): void;
  isBound(): boolean;
  /** Resolves at `turn/started`. */
  readonly started: Promise<void>;
}

/** Submits once. Never throws; an uncertain start ends the native execution. */
export async function beginNative(
  host: TurnHost,
  parameters: object,
  signal: AbortSignal,
  identity: NativeIdentity,
): Promise<Begun> {
  const { rpc, clock, limits } = host;
  try {
    await rpc.request("turn/start", parameters, {
      timeout: limits.turnStart,
      signal,
      answered: (result) => {
        const answer = turnStartAnswer.safeParse(result);
        const id = answer.success ? answer.data.turn?.id : undefined;
        if (id !== undefined) identity.bind(id);
      },
    });
    if (!identity.isBound()) {
      await within(clock, limits.turnStart, "turn/started", identity.started);
    }
    return { outcome: "begun" };
  } catch (cause) {
    const error = cause instanceof Error
      ? cause
      : new Error("codex: native start failed");
    const definite = cause instanceof WriteNotStarted ||
      cause instanceof RpcError && DEFINITE_REFUSALS.includes(cause.code);
    if (definite && !identity.isBound()) {
      return { outcome: "unsubmitted", error };
    }
    host.lose("codex: native start failed");
    return { outcome: "uncertain", error };
  }
}
