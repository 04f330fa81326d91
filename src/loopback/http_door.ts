/**
 * Owns the two HTTP routes in front of the wire: bootstrap, and the checks of an upgrade in their
 * order: parameters, version, credential. A refusal is a status with a two-field body; nothing is
 * dispatched before the last check passed.
 */
import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { PROTOCOL_VERSION } from "../protocol/version.ts";

/** Path of the bootstrap route. */
export const BOOTSTRAP_PATH = "/api/v1/agent-daemon/bootstrap";
/** Path of the WebSocket route. */
export const SOCKET_PATH = "/api/v1/agent-daemon/ws";

/** The longest bootstrap request body, in bytes: it names one device. */
export const MAX_BOOTSTRAP_BODY_BYTES = 4096;

/** A device row. */
export interface DeviceRow {
  readonly credential: string;
  /** A row of another Runtime kind is refused with 403. Default `agent_daemon`. */
  readonly runtimeType?: "agent_daemon" | "other";
}

/** A refused request. `detail` is for people and never parsed. */
export interface HttpRefusal {
  readonly status: number;
  readonly error: string;
  readonly detail: string;
}

/** An upgrade that may go on. */
export interface AdmittedDial {
  readonly status: 101;
  readonly deviceId: string;
}

/** Judges an upgrade request. */
export function judgeDial(
  request: IncomingMessage,
  devices: ReadonlyMap<string, DeviceRow>,
): HttpRefusal | AdmittedDial {
  const url = new URL(request.url ?? "/", "http://loopback");
  if (url.pathname !== SOCKET_PATH) return refusal(404, "not_found");
  const deviceId = url.searchParams.get("device_id") ?? "";
  const version = url.searchParams.get("version") ?? "";
  const bearer = bearerOf(request);
  if (!deviceId || !version || !bearer) return refusal(400, "missing_params");
  if (version !== PROTOCOL_VERSION) {
    return refusal(
      426,
      "incompatible_version",
      `daemon protocol ${
        printable(version)
      } incompatible with server ${PROTOCOL_VERSION}`,
    );
  }
  return judgeCredential(devices, deviceId, bearer) ??
    { status: 101, deviceId };
}

/** Judges a bootstrap request. Without a refusal the device may connect. */
export function judgeBootstrap(
  request: IncomingMessage,
  body: string | undefined,
  devices: ReadonlyMap<string, DeviceRow>,
): HttpRefusal | { readonly status: 200; readonly deviceId: string } {
  if (request.method !== "POST") return refusal(405, "method_not_allowed");
  const bearer = bearerOf(request);
  if (!bearer) return refusal(401, "missing_bearer");
  const parsed = body === undefined ? undefined : parseObject(body);
  if (!parsed) return refusal(400, "bad_json");
  const deviceId = parsed["device_id"];
  if (typeof deviceId !== "string" || deviceId === "") {
    return refusal(400, "missing_device_id");
  }
  return judgeCredential(devices, deviceId, bearer) ??
    { status: 200, deviceId };
}

function judgeCredential(
  devices: ReadonlyMap<string, DeviceRow>,
  deviceId: string,
  bearer: string,
): HttpRefusal | undefined {
  const row = devices.get(deviceId);
  if (!row) return refusal(401, "unknown_device");
  if (!sameSecret(row.credential, bearer)) {
    return refusal(401, "bad_credential");
  }
  return row.runtimeType === "other"
    ? refusal(403, "wrong_runtime_type")
    : undefined;
}

/** The credential counts only in the header, after the exact scheme; the rest is trimmed. */
function bearerOf(request: IncomingMessage): string {
  const header = request.headers.authorization ?? "";
  return header.startsWith("Bearer ") ? header.slice(7).trim() : "";
}

function sameSecret(expected: string, given: string): boolean {
  const [a, b] = [expected, given].map((text) =>
    new TextEncoder().encode(text)
  );
  return a !== undefined && b !== undefined && a.length === b.length &&
    timingSafeEqual(a, b);
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? value as Record<string, unknown>
      : undefined;
  } catch {
    return undefined;
  }
}

function refusal(status: number, error: string, detail = ""): HttpRefusal {
  return { status, error, detail };
}

function printable(text: string): string {
  return JSON.stringify(text.slice(0, 32)).slice(1, -1);
}
