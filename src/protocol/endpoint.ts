// Owns the spelling of HTTP endpoints that a configuration names. It judges the text, because the
// URL parser repairs what has to be refused.
import { isSpace } from "./text.ts";

/** An absolute http or https URL without credentials or fragment. */
export interface Endpoint {
  readonly secure: boolean;
  /** Host and port as written. */
  readonly authority: string;
  readonly hasQuery: boolean;
}

/** Reads an endpoint; `undefined` when the text is anything else. */
export function readEndpoint(text: string): Endpoint | undefined {
  const match = /^(https?):\/\/([^/?]+)/i.exec(text);
  const [, scheme = "", authority = ""] = match ?? [];
  if (match === null || authority.includes("@")) return undefined;
  if (/[#\\]/.test(text) || hasSpaceOrControl(text)) return undefined;
  if (!URL.canParse(text)) return undefined;
  return {
    secure: scheme.toLowerCase() === "https",
    authority,
    hasQuery: text.includes("?"),
  };
}

/**
 * Whether the host is a loopback address literal. Judged as written: the parser would also turn
 * `127.1` into 127.0.0.1, and the name `localhost` may resolve to anything.
 */
export function isLoopbackLiteral(endpoint: Endpoint): boolean {
  const host = endpoint.authority.replace(/:\d*$/, "");
  return host === "[::1]" ||
    /^127(\.(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}$/.test(host);
}

function hasSpaceOrControl(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x20 || unit === 0x7f || isSpace(unit)) return true;
  }
  return false;
}
