/** What a refusal or the end of the session loop means for the exit code, with one line about it. */
import { describeRefusal } from "../transport/refusal.ts";
import type { LoopExit, PermanentRefusal } from "../transport/session_loop.ts";
import { EXIT_CODES, type ExitName } from "./exit_codes.ts";
import { Mistake } from "./mistake.ts";

/** The exit of a permanent refusal, with its remedy. */
export function refusalMistake(refusal: PermanentRefusal): Mistake {
  const { exit, fix } = consequence(refusal.reason);
  return new Mistake({
    place: "Core",
    rule: describeRefusal(refusal),
    fix,
    exit,
  });
}

function consequence(
  reason: PermanentRefusal["reason"],
): { readonly exit: ExitName; readonly fix: string } {
  switch (reason) {
    case "incompatible_version":
      return {
        exit: "protocol",
        fix:
          "install the release that speaks this Core's version: agent-daemon upgrade",
      };
    case "credential_rejected":
      return {
        exit: "rejected",
        fix:
          "check --device-id and the token; rotate the token in Core's console and replace the token file",
      };
    case "retired":
      return {
        exit: "rejected",
        fix: "this device was removed at Core; enrol or register it again",
      };
    case "not_resumed":
      return {
        exit: "protocol",
        fix:
          "start the daemon anew; what the suspended session held was closed",
      };
    case "configuration":
      return {
        exit: "configuration",
        fix: "check --core-url and --device-id",
      };
  }
}

/**
 * The exit code of a loop that ended.
 *
 * @throws {Mistake} for a permanent refusal.
 */
export function exitCodeOf(exit: LoopExit): number {
  switch (exit.reason) {
    case "stopped":
    case "shutdown_requested":
      return EXIT_CODES.ok.code;
    case "permanent":
      throw refusalMistake(exit.refusal);
  }
}
