/**
 * The checks of `doctor` that reach out: the exact path of the daemon, step by step. The token
 * goes into the Authorization header only, and only to Core's own address.
 */
import { lookup } from "node:dns/promises";
import * as net from "node:net";
import * as tls from "node:tls";
import { z } from "zod";
import { PROTOCOL_VERSION } from "../protocol/version.ts";
import { bootstrap } from "../transport/bootstrap.ts";
import { dial } from "../transport/dial.ts";
import { requestCore } from "../transport/http_request.ts";
import type { Network } from "../transport/network.ts";
import { describeRefusal } from "../transport/refusal.ts";
import { BUILD_VERSION, PROGRAM } from "./build.ts";
import { type Check, fail, ok, skip, warn } from "./doctor_check.ts";
import type { DaemonIdentity } from "./identity.ts";
import type { Outside } from "./outside.ts";

/** Time for one step below HTTP, in milliseconds. */
const STEP = 10_000;
/** Clocks that differ more than this are worth a warning, in milliseconds. */
const CLOCK_SKEW = 120_000;
/** The longest device-status answer that is read, in bytes. */
const STATUS_LIMIT = 16_384;

/** What the checks need. */
export interface CoreChecks {
  readonly identity: DaemonIdentity;
  readonly token: string;
  readonly network: Network;
  readonly outside: Outside;
  /** A daemon of this machine runs. */
  readonly running: boolean;
  /** Also opens the WebSocket. */
  readonly connect: boolean;
}

const userAgent = `${PROGRAM}/${BUILD_VERSION} doctor`;

/** All steps in order; after a failed one the later ones are skipped. */
export async function coreChecks(context: CoreChecks): Promise<Check[]> {
  const checks: Check[] = [];
  const steps: readonly (() => Promise<Check[]>)[] = [
    () => pathChecks(context),
    () => deviceChecks(context),
    () => bootstrapChecks(context),
  ];
  for (const step of steps) {
    if (checks.some((check) => check.result === "fail")) {
      return [...checks, skip("further Core checks", "need the failed one")];
    }
    checks.push(...await step());
  }
  return checks;
}

/** Name, connection, certificate; through a proxy only the proxy's own path is looked at. */
async function pathChecks({ identity, network }: CoreChecks): Promise<Check[]> {
  const url = new URL(identity.core.base);
  const passage = network.passage(url);
  const secure = url.protocol === "https:";
  const via = passage.tunnel?.proxy.name;
  const target = via === undefined
    ? {
      host: bare(url.hostname),
      port: Number(url.port || (secure ? 443 : 80)),
    }
    : {
      host: bare(via.slice(0, via.lastIndexOf(":"))),
      port: Number(via.slice(via.lastIndexOf(":") + 1)),
    };
  const checks: Check[] = [
    ok("proxy", via === undefined ? "none" : `${via} (CONNECT)`),
  ];
  try {
    const { address } = await lookup(target.host);
    checks.push(ok("name", `${target.host} is ${address}`));
  } catch {
    return [
      ...checks,
      fail(
        "name",
        `${target.host} is not found`,
        "check --core-url and the name servers of this machine",
      ),
    ];
  }
  const socket = await openSocket(target);
  if (socket === undefined) {
    return [
      ...checks,
      fail(
        "connection",
        `${target.host}:${target.port} cannot be reached`,
        "check the network, firewall and --proxy",
      ),
    ];
  }
  checks.push(ok("connection", `${target.host}:${target.port} answers`));
  if (!secure || via !== undefined || passage.tls === undefined) {
    socket.destroy();
    return checks;
  }
  return [
    ...checks,
    await certificateCheck(socket, target.host, passage.tls),
  ];
}

function bare(host: string): string {
  return host.replace(/^\[|\]$/g, "");
}

function openSocket(
  target: { readonly host: string; readonly port: number },
): Promise<net.Socket | undefined> {
  return new Promise((resolve) => {
    const socket = net.connect({ ...target, timeout: STEP });
    const give = (result: net.Socket | undefined) => {
      if (result === undefined) socket.destroy();
      resolve(result);
    };
    socket.once("connect", () => give(socket));
    socket.once("error", () => give(undefined));
    socket.once("timeout", () => give(undefined));
  });
}

function certificateCheck(
  socket: net.Socket,
  host: string,
  options: tls.SecureContextOptions,
): Promise<Check> {
  return new Promise((resolve) => {
    const secure = tls.connect({
      ...options,
      socket,
      ...(net.isIP(host) === 0 ? { servername: host } : {}),
    });
    const give = (check: Check) => {
      secure.destroy();
      resolve(check);
    };
    secure.once("secureConnect", () => {
      const { issuer } = secure.getPeerCertificate();
      const name = issuer?.O ?? issuer?.CN ?? "an unnamed issuer";
      give(
        ok("certificate", `trusted, issued by ${String(name).slice(0, 80)}`),
      );
    });
    secure.once("error", () =>
      give(fail(
        "certificate",
        "is not trusted",
        "check the clock; for a private authority give --ca-file",
      )));
  });
}

const deviceStatus = z.object({ online: z.boolean() });

/** The clock and whether the device id is in use somewhere. */
async function deviceChecks(context: CoreChecks): Promise<Check[]> {
  const { identity, network, outside, running } = context;
  const outcome = await requestCore({
    url:
      `${identity.core.base}/agent-daemon/device-status?device_id=${identity.deviceId}`,
    method: "GET",
    credential: context.token,
    userAgent,
    maximumBodyBytes: STATUS_LIMIT,
  }, { network, clock: outside.clock });
  if (outcome.kind !== "answer") {
    return [fail(
      "request",
      outcome.kind === "fault" ? outcome.fault : `proxy ${outcome.status}`,
      "check --core-url and --proxy",
    )];
  }
  const { answer } = outcome;
  const checks = [clockCheck(answer.date, outside)];
  if (answer.status !== 200) {
    return [...checks, skip("device", `Core answered ${answer.status}`)];
  }
  const online = readOnline(answer.body);
  if (online === undefined) {
    return [...checks, skip("device", "Core's answer is not readable")];
  }
  if (online && !running) {
    return [
      ...checks,
      warn(
        "device",
        "Core sees it online, but no daemon runs here",
        "another machine uses this device id; stop it or use another id",
      ),
    ];
  }
  return [
    ...checks,
    ok("device", online ? "online at Core" : "offline at Core"),
  ];
}

function readOnline(body: string): boolean | undefined {
  try {
    return deviceStatus.safeParse(JSON.parse(body)).data?.online;
  } catch {
    return undefined; // not JSON
  }
}

function clockCheck(date: string | undefined, outside: Outside): Check {
  const at = Date.parse(date ?? "");
  if (!Number.isFinite(at)) return skip("clock", "Core sent no date");
  const skew = Math.abs(outside.clock.now() - at);
  const text = `differs from Core's by ${Math.round(skew / 1000)} s`;
  return skew > CLOCK_SKEW
    ? warn("clock", text, "let the system set its clock")
    : ok("clock", text);
}

async function bootstrapChecks(context: CoreChecks): Promise<Check[]> {
  const { identity, network, outside, token } = context;
  const common = {
    core: identity.core,
    deviceId: identity.deviceId,
    credential: token,
    userAgent,
    network,
    clock: outside.clock,
  };
  const outcome = await bootstrap(common);
  if (!outcome.ok) {
    return [fail(
      "bootstrap",
      describeRefusal(outcome.refusal),
      remedyOf(
        outcome.refusal.kind === "permanent"
          ? outcome.refusal.reason
          : "transient",
      ),
    )];
  }
  const checks = [
    ok("bootstrap", "Core accepts the credential"),
    ok("wire", `both ends speak ${PROTOCOL_VERSION}`),
  ];
  if (!context.connect) {
    return [
      ...checks,
      skip(
        "upgrade",
        "not tried: it would displace a running daemon; give --connect",
      ),
    ];
  }
  const opened = await dial({
    ...common,
    wsUrl: outcome.answer.wsUrl,
    version: PROTOCOL_VERSION,
  });
  if (!opened.ok) {
    return [
      ...checks,
      fail(
        "upgrade",
        describeRefusal(opened.refusal),
        "check that proxies between here and Core pass WebSockets",
      ),
    ];
  }
  opened.socket.destroy();
  return [...checks, ok("upgrade", "the WebSocket opens")];
}

function remedyOf(reason: string): string {
  switch (reason) {
    case "credential_rejected":
      return "check --device-id, rotate the token at Core, replace the token file";
    case "incompatible_version":
      return "install the release that speaks Core's version";
    case "configuration":
      return "check --core-url and --device-id";
    default:
      return "try again later; Core or a proxy is not ready";
  }
}
