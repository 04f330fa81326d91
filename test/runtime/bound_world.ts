// A router that is bound to a real workspace in a fresh folder, on a virtual clock: files are real,
// time and the Harness are the test's.
import { createHash } from "node:crypto";
import { join } from "@std/path";
import { applyStep } from "../../src/environment/installation.ts";
import { LocalBinding } from "../../src/environment/local_binding.ts";
import { spawnChild } from "../../src/harness/supervised_child.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { deferred } from "../../src/platform/deferred.ts";
import type { Telemetry } from "../../src/platform/telemetry.ts";
import { systemIds } from "../../src/platform/ids.ts";
import { boundServices } from "../../src/runtime/bound_services.ts";
import type { BoundParts } from "../../src/runtime/bound_services.ts";
import type { SuspensionControl } from "../../src/runtime/suspension.ts";
import {
  type DirectoryAccess,
  directoryAccess,
  PinnedRoot,
} from "../../src/workspace/root.ts";
import { WorkspaceWriter } from "../../src/workspace/writer.ts";
import { RecordingLog } from "../support/recording_log.ts";
import type { VirtualClock } from "../support/virtual_clock.ts";
import type { SentFrame } from "./fake_connection.ts";
import { World } from "./world.ts";

export const ENVIRONMENT = "11111111-1111-4111-8111-111111111111";
export const SESSION = "22222222-2222-4222-8222-222222222222";
/** How long a test waits for a frame before it says which one did not come, in milliseconds. */
const PATIENCE = 10_000;

/** A canonical id that a test can tell apart. */
export function transferId(number = 1): string {
  return `33333333-3333-4333-8333-${String(number).padStart(12, "0")}`;
}

/** Lower-case hex SHA-256. */
export function digest(data: Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

/** `text` as bytes. */
export function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

/** `data` as the wire carries it. */
export function base64(data: Uint8Array): string {
  return data.toBase64();
}

/** What a test puts in the place of a real part. */
export interface BoundWorldOptions {
  readonly telemetry?: Telemetry;
  readonly suspension?: SuspensionControl;
  readonly clock?: VirtualClock;
  readonly access?: DirectoryAccess;
  /** An existing directory; without one a fresh one is made. */
  readonly workspace?: string;
  readonly parts?: (real: BoundParts) => Partial<BoundParts>;
}

/** See the file comment. */
export class BoundWorld {
  readonly folder: string;
  readonly workspace: string;
  readonly world: World;
  readonly parts: BoundParts;
  #read = new Set<SentFrame>();
  #wake = deferred<void>();

  constructor(options: BoundWorldOptions = {}) {
    this.folder = Deno.makeTempDirSync();
    this.workspace = options.workspace ?? this.#made("workspace");
    const access = directoryAccess("linux");
    const workspace = new PinnedRoot(
      this.workspace,
      options.access ?? access,
    );
    const identity = { environmentId: ENVIRONMENT, sessionId: SESSION };
    const writer = new WorkspaceWriter(workspace, systemIds, systemClock);
    const installation = {
      identity,
      workspace,
      writer,
      access,
      capabilities: new PinnedRoot(this.#made("capabilities"), access),
      markerDirectory: this.#made("marker"),
      tools: {
        initializationDirectory: this.#made("initialization"),
        packageDirectory: this.#made("packages"),
        system: "linux" as const,
        daemonEnvironment: { PATH: Deno.env.get("PATH") ?? "" },
      },
      spawn: spawnChild,
      clock: systemClock,
      log: new RecordingLog(),
      launcher: (
        { packageRoot, name }: { packageRoot: string; name: string },
      ) => ({ command: "/launcher", arguments: [packageRoot, name] }),
    };
    const real: BoundParts = {
      identity,
      workspace,
      writer,
      applyStep: (begin, body, signal) =>
        applyStep(installation, begin, body, signal),
    };
    this.parts = { ...real, ...options.parts?.(real) };
    this.world = new World({
      ...(options.clock ? { clock: options.clock } : {}),
      router: {
        binding: new LocalBinding(installation),
        services: boundServices(this.parts),
        ...(options.telemetry ? { telemetry: options.telemetry } : {}),
        ...(options.suspension ? { suspension: options.suspension } : {}),
      },
    });
    this.world.connection.onWritten = () => {
      const woken = this.#wake;
      this.#wake = deferred();
      woken.resolve();
    };
  }

  /** Hands over one frame. */
  send(type: string, id: string | undefined, payload?: unknown): void {
    this.world.receive({
      type,
      ...(id === undefined ? {} : { id }),
      ...(payload === undefined ? {} : { payload }),
    });
  }

  /** The next unread frame of a type and id. Throws when it does not come. */
  // deno-lint-ignore no-explicit-any -- assertions look into every family's payload
  async reply(type: string, id: string): Promise<any> {
    const late = deferred<never>();
    const guard = setTimeout(
      () => late.reject(new Error(`no ${type} for ${id}`)),
      PATIENCE,
    );
    try {
      for (;;) {
        const woken = this.#wake.promise;
        const frame = this.world.frames.find((each) =>
          each.type === type && each.id === id && !this.#read.has(each)
        );
        if (frame !== undefined) {
          this.#read.add(frame);
          return frame.payload;
        }
        await Promise.race([woken, late.promise]);
      }
    } finally {
      clearTimeout(guard);
    }
  }

  /** Frames nobody asked for yet. */
  unread(): SentFrame[] {
    return this.world.frames.filter((each) => !this.#read.has(each));
  }

  /** Waits until none of the router's tasks runs; a proof of silence. */
  async quiet(): Promise<void> {
    const { router } = this.world;
    const end = performance.now() + PATIENCE;
    while (performance.now() < end) {
      if (router.status().tasks.length === 0) return;
      await new Promise((resolve) => setImmediate(resolve));
    }
    throw new Error(`still at work: ${router.status().tasks.join(", ")}`);
  }

  /** A ready read-only handle. */
  async handle(requestId = "read-only"): Promise<string> {
    this.send("execution_prepare", requestId, readOnlyPayload());
    await this.reply("preparation_status", requestId);
    const ready = await this.reply("preparation_status", requestId);
    if (ready.state !== "ready") throw new Error(JSON.stringify(ready));
    return ready.handle;
  }

  /** A whole write; the terminal result. */
  async write(
    path: string,
    data: Uint8Array,
    id = transferId(),
    // deno-lint-ignore no-explicit-any -- see `reply`
  ): Promise<any> {
    this.send("workspace_write", id, writeBegin(path, data));
    const ready = await this.reply("workspace_write_result", id);
    if (ready.outcome !== "ready") return ready;
    await this.body("workspace_write", id, data);
    this.send("workspace_write", id, { step: "commit" });
    return await this.reply("workspace_write_result", id);
  }

  /** The chunks of a body, each after the receipt of the one before. */
  async body(type: string, id: string, data: Uint8Array): Promise<void> {
    for (let offset = 0; offset < data.length; offset += 65_536) {
      const part = data.subarray(offset, offset + 65_536);
      this.send(type, id, { step: "chunk", offset, data: base64(part) });
      const { outcome, offset: total } = await this.reply(`${type}_result`, id);
      if (outcome !== "received" || total !== offset + part.length) {
        throw new Error(`a chunk was answered ${outcome} ${total}`);
      }
    }
  }

  path(...names: string[]): string {
    return join(this.workspace, ...names);
  }

  /** Every name below the workspace. */
  tree(folder = this.workspace, prefix = ""): string[] {
    return [...Deno.readDirSync(folder)].flatMap((entry) => [
      prefix + entry.name,
      ...(entry.isDirectory
        ? this.tree(join(folder, entry.name), `${prefix}${entry.name}/`)
        : []),
    ]).sort();
  }

  async close(): Promise<void> {
    await this.world.close();
  }

  remove(): void {
    Deno.removeSync(this.folder, { recursive: true });
  }

  #made(name: string): string {
    const path = join(this.folder, name);
    Deno.mkdirSync(path, { mode: 0o700 });
    return path;
  }
}

/** Runs `body` in a bound world and proves that the router settled. */
export async function inBoundWorld(
  body: (world: BoundWorld) => Promise<void>,
  options: BoundWorldOptions = {},
): Promise<void> {
  const world = new BoundWorld(options);
  try {
    await body(world);
    await world.close();
  } finally {
    world.remove();
  }
}

/** The payload of a read-only prepare. */
export function readOnlyPayload(
  changes: Record<string, unknown> = {},
): unknown {
  return {
    session_id: SESSION,
    configuration: {
      agent_kind: "contract",
      run_id: "",
      workspace_read_only: true,
      agent_state_key: `agents-api-${SESSION}`,
      local_environment: localEnvironment(),
      ...changes,
    },
  };
}

/** The payload of an executable prepare in the bound workspace. */
export function localPayload(
  environment: Record<string, unknown> = {},
  changes: Record<string, unknown> = {},
): unknown {
  return {
    session_id: SESSION,
    configuration: {
      agent_kind: "contract",
      run_id: "",
      agent_state_key: `agents-api-${SESSION}`,
      local_environment: localEnvironment(environment),
      ...changes,
    },
  };
}

function localEnvironment(changes: Record<string, unknown> = {}) {
  return {
    id: ENVIRONMENT,
    workspace_directory: "/workspace",
    capability_sources: null,
    ...changes,
  };
}

/** The begin of a write. */
export function writeBegin(
  path: string,
  data: Uint8Array,
  changes: Record<string, unknown> = {},
): Record<string, unknown> {
  return {
    step: "begin",
    environment_id: ENVIRONMENT,
    session_id: SESSION,
    path,
    size_bytes: data.length,
    sha256: digest(data),
    ...changes,
  };
}

/** The begin of an initial file. */
export function fileBegin(
  path: string,
  data: Uint8Array,
  changes: Record<string, unknown> = {},
): Record<string, unknown> {
  return {
    step: "begin",
    environment_id: ENVIRONMENT,
    session_id: SESSION,
    action: "file",
    file: { path },
    size_bytes: data.length,
    sha256: digest(data),
    ...changes,
  };
}

/** The begin of an initialization step. */
export function initializeBegin(
  initialization: Record<string, unknown>,
): Record<string, unknown> {
  return {
    step: "begin",
    environment_id: ENVIRONMENT,
    session_id: SESSION,
    action: "initialize",
    initialization,
  };
}
