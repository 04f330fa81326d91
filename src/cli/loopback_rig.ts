/**
 * Owns one complete daemon and its Core inside this process: the loopback Core, a real WebSocket,
 * the real transport, the dispatcher and one Harness. Only `try`, the demo and tests use it.
 */
import { join } from "@std/path";
import type { DiscoveredHarness, HarnessAdapter } from "../harness/contract.ts";
import { spawnChild } from "../harness/supervised_child.ts";
import { HarnessRegistry } from "../harness/registry.ts";
import { LoopbackCore } from "../loopback/core.ts";
import type { DeviceSession } from "../loopback/device_session.ts";
import type { TraceListener } from "../loopback/frame_trace.ts";
import type { CapabilityDeclaration } from "../protocol/capabilities.ts";
import type { Log } from "../platform/log.ts";
import { parseCoreUrl } from "../transport/core_url.ts";
import { createNetwork } from "../transport/network.ts";
import { type LoopExit, SessionLoop } from "../transport/session_loop.ts";
import { openBoundParts } from "./bound_parts.ts";
import { BUILD_VERSION, PROGRAM } from "./build.ts";
import type { BoundWorkspace } from "./identity.ts";
import { type NativeChildren, watchChildren } from "./native_children.ts";
import type { Outside } from "./outside.ts";
import { sessionParts } from "./session_parts.ts";

/** Bytes of the credential that only this process knows. */
const CREDENTIAL_BYTES = 32;

/** What a rig is made of. */
export interface LoopbackRigOptions {
  readonly adapter: HarnessAdapter;
  /** Absolute path of the Harness program; without it the adapter looks for one. */
  readonly program?: string;
  readonly outside: Outside;
  readonly log: Log;
  /** An existing 0700 directory of this rig alone. */
  readonly stateDirectory: string;
  /** The workspace to serve; its private state goes below `stateDirectory`. */
  readonly bound?: BoundWorkspace;
  readonly trace?: TraceListener;
}

/** The Harness cannot be used. The message says why, and names no secret. */
export class HarnessUnavailable extends Error {
  override readonly name = "HarnessUnavailable";
}

/** A connected daemon with its Core. {@linkcode LoopbackRig.close} must be awaited. */
export interface LoopbackRig {
  readonly session: DeviceSession;
  readonly harness: DiscoveredHarness;
  readonly declaration: CapabilityDeclaration;
  readonly children: NativeChildren;
  /** What the daemon still owns: fixed words and ids. */
  owned(): readonly string[];
  /** Stops the daemon gracefully, then the Core. Resolves when nothing native is owned. */
  close(): Promise<void>;
}

/**
 * Finds the Harness, starts Core and daemon and waits for the first heartbeat.
 *
 * @throws {HarnessUnavailable} before anything is started.
 */
export async function openLoopbackRig(
  options: LoopbackRigOptions,
): Promise<LoopbackRig> {
  const { outside, log } = options;
  const children = watchChildren(spawnChild);
  const { spawn } = children;
  const bound = options.bound === undefined
    ? undefined
    : await openBoundParts(options.bound, { ...options, spawn });
  const harness = await discover(options, children);
  const registry = new HarnessRegistry();
  registry.register(harness);
  const deviceId = outside.ids.uuid();
  const credential = outside.ids.hex(CREDENTIAL_BYTES);
  const core = await LoopbackCore.start({
    devices: { [deviceId]: { credential } },
    clock: outside.clock,
    ids: outside.ids,
    ...(options.trace ? { trace: options.trace } : {}),
  });
  const stop = new AbortController();
  const sessions = sessionParts({
    clock: outside.clock,
    ids: outside.ids,
    log,
    registry,
    ...(bound ? { bound } : {}),
  });
  const loop = new SessionLoop({
    core: parseCoreUrl(core.origin),
    deviceId,
    userAgent: `${PROGRAM}/${BUILD_VERSION}`,
    network: createNetwork({ proxy: {} }),
    clock: outside.clock,
    random: outside.random,
    log,
    readCredential: () => credential,
    openRouter: sessions.openRouter,
    stop: stop.signal,
    onPermanent: "exit",
  });
  const running = loop.run();
  const close = async () => {
    stop.abort(new Error("the rig is closed"));
    await running;
    await core.shutdown();
  };
  try {
    const session = await Promise.race([
      core.session(deviceId),
      neverConnected(running),
    ]);
    const { declaration } = harness;
    const owned = () => sessions.owned();
    return { session, harness, declaration, children, owned, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function neverConnected(running: Promise<LoopExit>): Promise<never> {
  const exit = await running;
  throw new Error(`the daemon ended before it was connected: ${exit.reason}`);
}

async function discover(
  options: LoopbackRigOptions,
  children: NativeChildren,
): Promise<DiscoveredHarness> {
  const { adapter, outside } = options;
  const stateDirectory = join(options.stateDirectory, adapter.kind);
  await Deno.mkdir(stateDirectory, { recursive: true, mode: 0o700 });
  const harness = await adapter.discover({
    ...(options.program === undefined ? {} : { program: options.program }),
    environment: outside.environment,
    stateDirectory,
    bound: options.bound !== undefined,
    permissions: "unattended",
    operatingSystem: outside.operatingSystem,
    clock: outside.clock,
    ids: outside.ids,
    log: options.log,
    spawn: children.spawn,
  });
  if (!harness?.available) {
    throw new HarnessUnavailable(harness?.reason ?? "it is turned off");
  }
  return harness;
}
