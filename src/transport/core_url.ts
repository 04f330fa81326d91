// Owns the addresses of Core: what an operator may write, and which address may get the credential.

/** An operator's Core address that cannot be used. The message never repeats the address. */
export class InvalidCoreUrl extends Error {
  override readonly name = "InvalidCoreUrl";
}

const API_PATH = "/api/v1";
const SOCKET_PATH = "/agent-daemon/ws";

/** Core's HTTP base. */
export interface CoreUrl {
  /** Scheme, host and port, such as `https://core.example`. */
  readonly origin: string;
  /** The origin followed by `/api/v1`, without a trailing slash. */
  readonly base: string;
}

/**
 * Reads Core's address: its origin, a URL ending in `/api/v1`, or the remote URL of an
 * installation (`wss://…/api/v1/agent-daemon/ws`). Plain `http` and `ws` only for loopback.
 *
 * @throws {InvalidCoreUrl} with one sentence that names the fault, not the value.
 */
export function parseCoreUrl(text: string): CoreUrl {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new InvalidCoreUrl("The Core URL is not a URL");
  }
  const scheme = httpScheme(url.protocol);
  if (scheme === undefined) {
    throw new InvalidCoreUrl("The Core URL must be https");
  }
  if (url.username !== "" || url.password !== "") {
    throw new InvalidCoreUrl("The Core URL must not hold credentials");
  }
  if (/[?#\s\\]/.test(text)) {
    throw new InvalidCoreUrl(
      "The Core URL must have no query, fragment or space",
    );
  }
  if (!acceptedPath(url)) {
    throw new InvalidCoreUrl(
      "The Core URL must be an origin, or end in /api/v1 or /api/v1/agent-daemon/ws",
    );
  }
  if (scheme === "http:" && !isLoopback(url.hostname)) {
    throw new InvalidCoreUrl(
      "The Core URL may be plain http for loopback only",
    );
  }
  const origin = `${scheme}//${url.host}`;
  return { origin, base: origin + API_PATH };
}

function httpScheme(protocol: string): "http:" | "https:" | undefined {
  if (protocol === "https:" || protocol === "wss:") return "https:";
  if (protocol === "http:" || protocol === "ws:") return "http:";
  return undefined;
}

/** A socket URL must carry the whole socket path; an HTTP one the origin or the API base. */
function acceptedPath(url: URL): boolean {
  if (url.protocol === "ws:" || url.protocol === "wss:") {
    return url.pathname === API_PATH + SOCKET_PATH;
  }
  return ["", "/", API_PATH, `${API_PATH}/`].includes(url.pathname);
}

/** Whether a URL's host is literally this machine: `127.0.0.0/8`, `::1` or `localhost`. */
export function isLoopback(hostname: string): boolean {
  const host = hostname.toLowerCase();
  return host === "localhost" || host === "[::1]" || host === "::1" ||
    /^127(\.\d{1,3}){3}$/.test(host);
}

/** A socket address from bootstrap, or the fixed reason why it gets no credential. */
export type SocketUrl =
  | { readonly ok: true; readonly url: string }
  | { readonly ok: false; readonly reason: SocketUrlFault };

/** Why the socket address of bootstrap was refused. */
export type SocketUrlFault =
  | "ws_url_malformed"
  | "ws_url_scheme"
  | "ws_url_downgrade"
  | "ws_url_other_host";

/**
 * Decides where to dial. An empty `wsUrl` is derived from the base. Otherwise it must be `ws` or
 * `wss`, on Core's own host and port and no less secure than the base: anything else would hand
 * the credential to a stranger.
 */
export function socketUrl(core: CoreUrl, wsUrl: string): SocketUrl {
  const base = new URL(core.base);
  const secure = base.protocol === "https:";
  if (wsUrl === "") {
    return {
      ok: true,
      url: `${secure ? "wss" : "ws"}://${base.host}${API_PATH}${SOCKET_PATH}`,
    };
  }
  let url: URL;
  try {
    url = new URL(wsUrl);
  } catch {
    return { ok: false, reason: "ws_url_malformed" };
  }
  if (url.protocol !== "ws:" && url.protocol !== "wss:") {
    return { ok: false, reason: "ws_url_scheme" };
  }
  if (url.username !== "" || url.password !== "" || url.hash !== "") {
    return { ok: false, reason: "ws_url_malformed" };
  }
  if (secure && url.protocol === "ws:") {
    return { ok: false, reason: "ws_url_downgrade" };
  }
  if (url.hostname !== base.hostname || port(url) !== port(base)) {
    return { ok: false, reason: "ws_url_other_host" };
  }
  return { ok: true, url: url.href };
}

function port(url: URL): string {
  if (url.port !== "") return url.port;
  return url.protocol === "https:" || url.protocol === "wss:" ? "443" : "80";
}

/**
 * The address of one dial. Sets `device_id` and `version`, removes a `token` that an old
 * configuration may carry, keeps every other query member.
 */
export function dialUrl(
  wsUrl: string,
  deviceId: string,
  version: string,
): string {
  const url = new URL(wsUrl);
  url.searchParams.delete("token");
  url.searchParams.set("device_id", deviceId);
  url.searchParams.set("version", version);
  return url.href;
}
