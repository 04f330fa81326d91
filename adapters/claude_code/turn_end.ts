/** Owns the last frames of a Turn: what its end is called and which native identity it had. */
import type { Done, RunError, Usage } from "../../src/protocol/run_output.ts";
import { CLAUDE_SESSION_TYPE } from "./kind.ts";
import type { NativeOutcome } from "./turn_reader.ts";

/** The native state became unknown during the Turn. */
export const LOST: RunError = {
  error: "Claude Code: the native execution was lost",
};

/** The error of a Turn whose last native turn failed. */
export function nativeFailure(
  outcome: Extract<NativeOutcome, { type: "failed" }>,
): RunError {
  const { cause, code } = outcome;
  return {
    error: `Claude Code: the turn ended with ${safeCause(cause)}`,
    ...(code === undefined ? {} : { code }),
  };
}

/** Native identifiers only: a newer program might put prose where a word was. */
export function safeCause(cause: string): string {
  return /^[a-z][a-z0-9_]{0,63}$/.test(cause) ? cause : "an unknown cause";
}

/** The end of a Turn. `session` is the native Session that the program named, never a wish. */
export function nativeDone(
  content: string,
  usage: Usage | undefined,
  session: string | undefined,
): Done {
  return {
    content,
    ...(usage ? { usage } : {}),
    ...(session === undefined ? {} : {
      metadata: {
        agent_session_id: session,
        agent_session_type: CLAUDE_SESSION_TYPE,
      },
    }),
  };
}
