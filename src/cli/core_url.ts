/** Where Core is: accepts what operators paste and normalises it to one form. */

/** The only path below which Core serves daemons. */
const API_PATH = "/api/v1";
/** The path of the WebSocket, as Core's console shows it. */
const SOCKET_PATH = "/api/v1/agent-daemon/ws";

/** A checked Core URL, or the rule that it breaks. The rule never repeats the value. */
export type CoreUrl =
  | { readonly ok: true; readonly url: string }
  | { readonly ok: false; readonly rule: string };

/**
 * Normalises an origin, an origin with `/api/v1`, or the WebSocket URL of Core to
 * `<origin>/api/v1`. Plain HTTP is for loopback only.
 */
export function normaliseCoreUrl(text: string): CoreUrl {
  const refuse = (rule: string): CoreUrl => ({ ok: false, rule });
  if (!URL.canParse(text)) return refuse("must be an absolute URL");
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") {
    return refuse("must not hold a user name or password");
  }
  if (url.search !== "" || url.hash !== "" || /[?#]/.test(text)) {
    return refuse("must not hold a query or fragment");
  }
  const path = url.pathname.replace(/\/$/, "");
  const socket = url.protocol === "ws:" || url.protocol === "wss:";
  if (socket ? path !== SOCKET_PATH : path !== "" && path !== API_PATH) {
    return refuse(`must be Core's origin, alone or with ${API_PATH}`);
  }
  switch (url.protocol) {
    case "https:":
    case "wss:":
      return { ok: true, url: `https://${url.host}${API_PATH}` };
    case "http:":
    case "ws:":
      return isLoopbackHost(url.hostname)
        ? { ok: true, url: `http://${url.host}${API_PATH}` }
        : refuse("must use https; plain http is for loopback only");
    default:
      return refuse("must use https");
  }
}

/** Whether a URL's host names this machine itself: 127.0.0.0/8, ::1 or localhost. */
export function isLoopbackHost(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" ||
    /^127(?:\.\d{1,3}){3}$/.test(hostname);
}
