// Owns the words for how a connection ended and what each end means for the next dial.

/** Why a connection was lost. */
export type LostCause =
  | "close_code"
  | "frame_too_large"
  | "machine_slept"
  | "no_close_frame"
  | "protocol"
  | "silent"
  | "write_failed"
  | "write_timeout";

/** How a connection ended. The first end wins; later ones are consequences. */
export type ConnectionEnd =
  /** This side closed it. */
  | { readonly kind: "closed_here" }
  /** Core closed it in good order. */
  | { readonly kind: "closed_by_core"; readonly code: 1000 | 1001 }
  /** Core retired the device: permanent. */
  | { readonly kind: "retired"; readonly code: typeof RETIRED_CODE }
  /** Anything else; the effect of what was on its way is unknown. */
  | {
    readonly kind: "lost";
    readonly cause: LostCause;
    readonly code?: number;
  };

/** Core's close code for a device that was deleted or revoked. */
export const RETIRED_CODE = 4001;
/** The code of the socket library for an end without a close frame. */
const NO_CLOSE_FRAME = 1006;

/** Reads the code of a close event. */
export function endOfCloseCode(code: number): ConnectionEnd {
  if (code === 1000 || code === 1001) return { kind: "closed_by_core", code };
  if (code === RETIRED_CODE) return { kind: "retired", code };
  if (code === NO_CLOSE_FRAME) return { kind: "lost", cause: "no_close_frame" };
  return { kind: "lost", cause: "close_code", code };
}

/**
 * Whether the end looks like an eviction: Core gives a replaced connection no close frame, so
 * that, seen from here, it is the same as a broken line.
 */
export function endedWithoutCloseFrame(end: ConnectionEnd): boolean {
  return end.kind === "lost" &&
    (end.cause === "no_close_frame" || end.cause === "write_failed");
}

/** One sentence for the log. It claims no more than was seen. */
export function describeEnd(end: ConnectionEnd): string {
  switch (end.kind) {
    case "closed_here":
      return "closed by this daemon";
    case "closed_by_core":
      return `closed by Core with code ${end.code}`;
    case "retired":
      return `closed by Core with code ${end.code}: the device was retired`;
    case "lost":
      return describeLoss(end.cause, end.code);
  }
}

function describeLoss(cause: LostCause, code?: number): string {
  switch (cause) {
    case "close_code":
      return `closed by Core with code ${code ?? "unknown"}`;
    case "frame_too_large":
      return "Core sent a frame over the limit";
    case "machine_slept":
      return "the machine slept or its clock was moved";
    case "no_close_frame":
      return "closed without a close frame; another daemon may hold the device id";
    case "protocol":
      return "Core broke the WebSocket protocol";
    case "silent":
      return "Core was silent beyond the limit";
    case "write_failed":
      return "a write failed; another daemon may hold the device id";
    case "write_timeout":
      return "a write did not finish within its deadline";
  }
}
