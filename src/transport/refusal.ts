// Owns what a failed attempt to reach Core means: a closed set of classes, free of peer text.
import { RETRY_AFTER_CAP } from "./limits.ts";

/** Core's machine codes that are repeated to the operator; any other is left out. */
const KNOWN_CODES = [
  "bad_credential",
  "bad_json",
  "bootstrap_unavailable",
  "incompatible_version",
  "internal",
  "method_not_allowed",
  "missing_bearer",
  "missing_device_id",
  "missing_params",
  "unknown_device",
  "wrong_runtime_type",
] as const;

/** A machine code of Core's error body. */
export type CoreCode = (typeof KNOWN_CODES)[number];

/** Which request was refused: the same status can mean different things on the two routes. */
export type Route = "bootstrap" | "socket";

/** Why a request got no answer of Core at all. */
export type NetworkFault =
  | "aborted"
  | "bad_answer"
  | "connection_refused"
  | "connection_reset"
  | "name_not_found"
  | "network"
  | "timeout"
  | "tls_certificate"
  | "tls";

/** Why an answer of Core was refused here, before anything was dialled. */
export type AnswerFault =
  | "device_id_mismatch"
  | "malformed_answer"
  | "answer_too_large"
  | "ws_url_malformed"
  | "ws_url_scheme"
  | "ws_url_downgrade"
  | "ws_url_other_host";

/** What ends the attempts for good: only an operator can change it. */
export type PermanentReason =
  | "incompatible_version"
  | "credential_rejected"
  | "configuration"
  | "retired"
  | "not_resumed";

/**
 * A failed attempt. `permanent`: no further request. `slow`: a fault of the configuration on one
 * of the two sides that may be mended while we run, tried again at the longest delay. `transient`:
 * tried again with growing delays.
 */
export type Refusal =
  | {
    readonly kind: "permanent";
    readonly reason: PermanentReason;
    readonly source: RefusalSource;
  }
  | { readonly kind: "slow"; readonly source: RefusalSource }
  | {
    readonly kind: "transient";
    readonly source: RefusalSource;
    /** Core's or a proxy's wish, in milliseconds, already bounded. */
    readonly retryAfter?: number;
  };

/** Who refused, and with what. */
export type RefusalSource =
  | {
    readonly from: "core";
    readonly route: Route;
    readonly status: number;
    readonly code?: CoreCode;
  }
  | {
    readonly from: "proxy";
    /** Host and port of the proxy; never its credentials. */
    readonly proxy: string;
    readonly status: number;
  }
  | {
    readonly from: "network";
    readonly route: Route;
    readonly fault: NetworkFault;
    /** Host and port of the proxy that the attempt went through. */
    readonly proxy?: string;
  }
  | { readonly from: "answer"; readonly fault: AnswerFault }
  | {
    readonly from: "local";
    readonly fault: "credential_unreadable" | "internal";
  }
  | { readonly from: "close_frame"; readonly code: number }
  /** The first frame on the connection that should have resumed a suspension. */
  | { readonly from: "first_frame" };

/** An HTTP answer of Core reduced to what may be looked at. */
export interface RefusedAnswer {
  readonly status: number;
  /** The body's first bytes as text; only its `error` member is compared with the known codes. */
  readonly body: string;
  /** The `Retry-After` header. */
  readonly retryAfter?: string;
}

/**
 * Classifies a refused request by its status, never by its text.
 *
 * @param now wall time in Unix milliseconds, for a `Retry-After` date.
 */
export function classifyRefusal(
  route: Route,
  answer: RefusedAnswer,
  now: number,
): Refusal {
  const { status } = answer;
  const code = knownCode(answer.body);
  const source: RefusalSource = {
    from: "core",
    route,
    status,
    ...(code === undefined ? {} : { code }),
  };
  if (status === 401 || status === 403) {
    return { kind: "permanent", reason: "credential_rejected", source };
  }
  if (status === 426) {
    return { kind: "permanent", reason: "incompatible_version", source };
  }
  if (status === 400 && route === "bootstrap") {
    return { kind: "permanent", reason: "configuration", source };
  }
  if (status === 400 || status === 405 || (status >= 300 && status < 400)) {
    return { kind: "slow", source };
  }
  const retryAfter = parseRetryAfter(answer.retryAfter, now);
  return {
    kind: "transient",
    source,
    ...(retryAfter === undefined ? {} : { retryAfter }),
  };
}

/** A fault on this side of the wire: tried again like any outage. */
export function localRefusal(
  fault: Extract<RefusalSource, { from: "local" }>["fault"],
): Refusal {
  return { kind: "transient", source: { from: "local", fault } };
}

/** Finds a known code in an error body. Everything else of the body is forgotten. */
function knownCode(body: string): CoreCode | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return undefined; // a proxy's page, or a cut body: the status says enough
  }
  if (typeof parsed !== "object" || parsed === null) return undefined;
  const error = (parsed as { readonly error?: unknown }).error;
  return KNOWN_CODES.find((code) => code === error);
}

/** Milliseconds a `Retry-After` header asks for, bounded; `undefined` when it says nothing. */
export function parseRetryAfter(
  header: string | undefined,
  now: number,
): number | undefined {
  const text = header?.trim() ?? "";
  if (text === "") return undefined;
  const wish = /^\d{1,9}$/.test(text)
    ? Number(text) * 1000
    : Date.parse(text) - now;
  if (!Number.isFinite(wish) || wish <= 0) return undefined;
  return Math.min(wish, RETRY_AFTER_CAP);
}

/** One sentence for the operator, made of fixed words, numbers and host names. */
export function describeRefusal(refusal: Refusal): string {
  const { source } = refusal;
  switch (source.from) {
    case "core":
      return `Core answered ${source.route} with status ${source.status}` +
        (source.code === undefined ? "" : ` (${source.code})`);
    case "proxy":
      return `the proxy ${source.proxy} answered CONNECT with status ${source.status}` +
        (source.status === 407 ? " (proxy authentication required)" : "");
    case "network":
      return `${source.route} failed: ${source.fault}` +
        (source.proxy === undefined ? "" : ` (through proxy ${source.proxy})`);
    case "answer":
      return `Core's bootstrap answer was refused: ${source.fault}`;
    case "local":
      return `the attempt failed on this side: ${source.fault}`;
    case "close_frame":
      return `Core closed the connection with code ${source.code}`;
    case "first_frame":
      return "Core's first frame did not resume the suspended session";
  }
}
