// Owns the way out of the machine: trusted certificates and the proxy of each address. Both the
// HTTP requests and the socket use it, so that what one of them proves holds for the other.
import * as tls from "node:tls";
import { HttpsProxyAgent } from "https-proxy-agent";
import { type Proxy, proxyFor, type ProxySettings } from "./proxy.ts";

/** What an operator may change about the way out. */
export interface NetworkSettings {
  readonly proxy: ProxySettings;
  /** PEM certificates trusted besides the bundled and the system's; never instead of them. */
  readonly certificateAuthorities?: readonly string[];
}

/** The part of a TLS or plain request that the network decides. */
export interface Passage {
  /** For a secure address only. Verification cannot be turned off. */
  readonly tls?: { readonly ca: string[]; readonly minVersion: "TLSv1.2" };
  /** The tunnel, when there is one. Fresh for each request: its answer belongs to one request. */
  readonly tunnel?: Tunnel;
}

/** A CONNECT tunnel through a proxy. */
export interface Tunnel {
  readonly proxy: Proxy;
  readonly agent: HttpsProxyAgent<string>;
  /** The proxy's answer to CONNECT once there is one. */
  status(): number | undefined;
}

/** The way out with its settings. */
export interface Network {
  /**
   * Prepares one request to `target`.
   *
   * @throws {InvalidProxy} when the proxy setting cannot be used.
   */
  passage(target: URL): Passage;
}

/** Creates the way out. The certificate list is read once, at the first secure request. */
export function createNetwork(settings: NetworkSettings): Network {
  let trusted: string[] | undefined;
  return {
    passage(target) {
      if (target.protocol !== "https:" && target.protocol !== "wss:") return {};
      trusted ??= trustedCertificates(settings.certificateAuthorities ?? []);
      const proxy = proxyFor(target, settings.proxy);
      return {
        tls: { ca: trusted, minVersion: "TLSv1.2" },
        ...(proxy === undefined ? {} : { tunnel: openTunnel(proxy, trusted) }),
      };
    },
  };
}

/** The bundled roots, the operating system's, and the operator's own. */
function trustedCertificates(own: readonly string[]): string[] {
  return [
    ...new Set([
      ...tls.rootCertificates,
      ...tls.getCACertificates("system"),
      ...own,
    ]),
  ];
}

function openTunnel(proxy: Proxy, ca: string[]): Tunnel {
  // The credentials go in as a header: the agent's own diagnostics print the URL it was given.
  const agent = new HttpsProxyAgent(proxy.url, {
    ca,
    ...(proxy.authorization === undefined
      ? {}
      : { headers: { "Proxy-Authorization": proxy.authorization } }),
  });
  let status: number | undefined;
  agent.on("proxyConnect", (answer: { readonly statusCode: number }) => {
    status = answer.statusCode;
  });
  return { proxy, agent, status: () => status };
}
