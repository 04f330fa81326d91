// Owns the choice of a proxy from the operator's settings. Loopback never goes through one, and a
// proxy's credentials leave this file only inside the header that carries them.
import { isLoopback } from "./core_url.ts";

/** The operator's proxy settings, as read from a flag or the environment. */
export interface ProxySettings {
  /** A proxy for every secure address, as in `HTTPS_PROXY`. Empty means none. */
  readonly proxy?: string;
  /** Hosts that are reached directly, as in `NO_PROXY`. */
  readonly noProxy?: string;
}

/** A usable proxy. */
export interface Proxy {
  /** Scheme, host and port without credentials. */
  readonly url: string;
  /** Host and port, for messages. */
  readonly name: string;
  /** The value of `Proxy-Authorization`, when the operator gave credentials. */
  readonly authorization?: string;
}

/** A proxy setting that cannot be used. The message never repeats the value. */
export class InvalidProxy extends Error {
  override readonly name = "InvalidProxy";
}

/**
 * Takes the settings out of an environment; the lower-case names win, as in other programs, and an
 * empty value counts as none. `ALL_PROXY` is left alone: it often names a kind we cannot use.
 */
export function proxyFromEnvironment(
  environment: Readonly<Record<string, string>>,
): ProxySettings {
  const read = (...names: readonly string[]) =>
    names.map((name) => environment[name]).find((value) => value);
  const proxy = read("https_proxy", "HTTPS_PROXY");
  const noProxy = read("no_proxy", "NO_PROXY");
  return {
    ...(proxy === undefined ? {} : { proxy }),
    ...(noProxy === undefined ? {} : { noProxy }),
  };
}

/**
 * The proxy for `target`, or `undefined` when it is reached directly: loopback, an excluded host,
 * or no setting. Plain addresses are loopback by rule and so never proxied.
 *
 * @throws {InvalidProxy} when the setting is not an http or https URL.
 */
export function proxyFor(
  target: URL,
  settings: ProxySettings,
): Proxy | undefined {
  if (settings.proxy === undefined || settings.proxy === "") return undefined;
  if (isLoopback(target.hostname)) return undefined;
  if (isExcluded(target, settings.noProxy ?? "")) return undefined;
  return parseProxy(settings.proxy);
}

/**
 * Reads a proxy URL; a bare `host:port` counts as http.
 *
 * @throws {InvalidProxy} for any other scheme, a path, or text that is no URL.
 */
export function parseProxy(text: string): Proxy {
  let url: URL;
  try {
    url = new URL(
      /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`,
    );
  } catch {
    throw new InvalidProxy("The proxy setting is not a URL");
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new InvalidProxy("The proxy must be an http or https URL");
  }
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  const name = `${url.hostname}:${port}`;
  const authorization = basicAuthorization(url);
  return {
    url: `${url.protocol}//${name}`,
    name,
    ...(authorization === undefined ? {} : { authorization }),
  };
}

function basicAuthorization(url: URL): string | undefined {
  if (url.username === "" && url.password === "") return undefined;
  try {
    const pair = `${decodeURIComponent(url.username)}:${
      decodeURIComponent(url.password)
    }`;
    return `Basic ${new TextEncoder().encode(pair).toBase64()}`;
  } catch {
    throw new InvalidProxy("The proxy credentials are not percent-encoded");
  }
}

/** Matches a host against `*`, names, `.suffixes`, `host:port`, addresses and IPv4 networks. */
function isExcluded(target: URL, list: string): boolean {
  const host = target.hostname.toLowerCase().replace(/^\[|\]$/g, "");
  const port = target.port || "443";
  return list.toLowerCase().split(/[\s,]+/).some((entry) => {
    if (entry === "") return false;
    if (entry === "*") return true;
    const match = /^(?:\*?\.)?(\[[^\]]+\]|[^:]+|[0-9a-f:]+)(?::(\d+))?$/.exec(
      entry,
    );
    const name = match?.[1]?.replace(/^\[|\]$/g, "") ?? "";
    if (name === "" || (match?.[2] !== undefined && match[2] !== port)) {
      return false;
    }
    return host === name || host.endsWith(`.${name}`) || inNetwork(host, name);
  });
}

function inNetwork(host: string, network: string): boolean {
  const [address = "", length = ""] = network.split("/");
  if (!/^\d{1,2}$/.test(length) || Number(length) > 32) return false;
  const left = ipv4(host);
  const right = ipv4(address);
  if (left === undefined || right === undefined) return false;
  const ignored = 2 ** (32 - Number(length));
  return Math.floor(left / ignored) === Math.floor(right / ignored);
}

function ipv4(text: string): number | undefined {
  const parts = text.split(".");
  if (parts.length !== 4) return undefined;
  let value = 0;
  for (const part of parts) {
    if (!/^\d{1,3}$/.test(part) || Number(part) > 255) return undefined;
    value = value * 256 + Number(part);
  }
  return value;
}
