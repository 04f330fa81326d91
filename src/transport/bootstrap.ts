// Owns the first request of a daemon: it proves the credential and learns where to dial. It knows
// no file and no socket; the credential comes in as a value and leaves in one header.
import * as z from "zod";
import type { Clock } from "../platform/clock.ts";
import { isCompatibleVersion } from "../protocol/version.ts";
import { type CoreUrl, socketUrl } from "./core_url.ts";
import { type HttpAnswer, requestCore } from "./http_request.ts";
import {
  BOOTSTRAP_BODY_BYTES,
  DEFAULT_HEARTBEAT_INTERVAL,
  MAX_HEARTBEAT_INTERVAL,
} from "./limits.ts";
import type { Network } from "./network.ts";
import { type AnswerFault, classifyRefusal, type Refusal } from "./refusal.ts";

/** What bootstrap needs. */
export interface BootstrapRequest {
  readonly core: CoreUrl;
  /** Canonical UUID of this daemon's device. */
  readonly deviceId: string;
  readonly credential: string;
  /** Name and build version, such as `agent-daemon/1.0.0`. */
  readonly userAgent: string;
  readonly network: Network;
  readonly clock: Clock;
  readonly signal?: AbortSignal;
}

/** What bootstrap told, checked. */
export interface BootstrapAnswer {
  /** The address to dial, without the query of a dial. */
  readonly wsUrl: string;
  /** Milliseconds between two heartbeats. */
  readonly heartbeatInterval: number;
  /** Core's grouping of devices; informational, unrelated to the workspace directory. */
  readonly workspaceId?: string;
}

/** The outcome of one bootstrap. */
export type BootstrapOutcome =
  | { readonly ok: true; readonly answer: BootstrapAnswer }
  | { readonly ok: false; readonly refusal: Refusal };

const answerWire = z.object({
  device_id: z.string().min(1),
  workspace_id: z.string().optional(),
  ws_url: z.string().nullish(),
  heartbeat_seconds: z.int().nullish(),
  protocol_version: z.string().nullish(),
});

/**
 * Asks Core where to dial, within 10 s and 64 KiB.
 *
 * @throws {TypeError} when device id or credential are empty; no request is made then.
 * @throws {InvalidProxy} when the proxy setting cannot be used.
 */
export async function bootstrap(
  request: BootstrapRequest,
): Promise<BootstrapOutcome> {
  if (request.deviceId === "") throw new TypeError("The device id is empty");
  if (request.credential === "") throw new TypeError("The credential is empty");
  const outcome = await requestCore({
    url: `${request.core.base}/agent-daemon/bootstrap`,
    method: "POST",
    credential: request.credential,
    body: JSON.stringify({ device_id: request.deviceId }),
    userAgent: request.userAgent,
    maximumBodyBytes: BOOTSTRAP_BODY_BYTES,
  }, request);
  switch (outcome.kind) {
    case "answer":
      return readAnswer(request, outcome.answer);
    case "fault": {
      const { fault, proxy } = outcome;
      return transient({
        from: "network",
        route: "bootstrap",
        fault,
        ...(proxy === undefined ? {} : { proxy }),
      });
    }
    case "proxy_refused": {
      const { proxy, status } = outcome;
      return transient({ from: "proxy", proxy, status });
    }
  }
}

function transient(source: Refusal["source"]): BootstrapOutcome {
  return { ok: false, refusal: { kind: "transient", source } };
}

function readAnswer(
  request: BootstrapRequest,
  answer: HttpAnswer,
): BootstrapOutcome {
  if (answer.status < 200 || answer.status > 299) {
    return {
      ok: false,
      refusal: classifyRefusal("bootstrap", answer, request.clock.now()),
    };
  }
  // A cut or foreign body comes from something in between, such as a captive portal: try again.
  if (answer.tooLarge) {
    return transient({ from: "answer", fault: "answer_too_large" });
  }
  const parsed = parse(answer.body);
  if (parsed === undefined) {
    return transient({ from: "answer", fault: "malformed_answer" });
  }
  return checkAnswer(request, parsed);
}

function parse(body: string): z.infer<typeof answerWire> | undefined {
  try {
    return answerWire.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined; // not JSON; the text itself is never repeated
  }
}

/** A Core of another wire is refused before the credential travels to a socket. */
function checkAnswer(
  request: BootstrapRequest,
  answer: z.infer<typeof answerWire>,
): BootstrapOutcome {
  if (answer.device_id !== request.deviceId) return slow("device_id_mismatch");
  const version = answer.protocol_version ?? "";
  // An answer that names no version leaves the decision to the upgrade, which always makes it.
  if (version !== "" && !isCompatibleVersion(version)) {
    return {
      ok: false,
      refusal: {
        kind: "permanent",
        reason: "incompatible_version",
        source: {
          from: "core",
          route: "bootstrap",
          status: 200,
          code: "incompatible_version",
        },
      },
    };
  }
  const socket = socketUrl(request.core, answer.ws_url ?? "");
  if (!socket.ok) return slow(socket.reason);
  return {
    ok: true,
    answer: {
      wsUrl: socket.url,
      heartbeatInterval: heartbeatInterval(answer.heartbeat_seconds ?? 0),
      ...(answer.workspace_id ? { workspaceId: answer.workspace_id } : {}),
    },
  };
}

function slow(fault: AnswerFault): BootstrapOutcome {
  return {
    ok: false,
    refusal: { kind: "slow", source: { from: "answer", fault } },
  };
}

function heartbeatInterval(seconds: number): number {
  if (seconds <= 0) return DEFAULT_HEARTBEAT_INTERVAL;
  return Math.min(seconds * 1000, MAX_HEARTBEAT_INTERVAL);
}
