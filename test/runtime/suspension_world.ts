// What the tests of a suspension share: a control that a test can break, and the two requests.
import { assertEquals } from "@std/assert";
import { decodeEnvelope } from "../../src/protocol/envelope.ts";
import type {
  ResumeOutcome,
  Suspension,
  SuspensionControl,
} from "../../src/runtime/suspension.ts";
import { settleEvents } from "../support/virtual_clock.ts";
import { type BoundWorld, ENVIRONMENT, localPayload } from "./bound_world.ts";
import { FakeConnection } from "./fake_connection.ts";
import type { World } from "./world.ts";

/** Remembers what it was told, in order. */
export class RecordingControl implements SuspensionControl {
  readonly environmentId = ENVIRONMENT;
  lastResumed: string | undefined = "an earlier one";
  /** What a wake signal would be for. */
  armed: string | undefined;
  readonly calls: string[] = [];
  onArm: () => Promise<void> = () => Promise.resolve();

  async arm(suspendId: string): Promise<void> {
    this.calls.push(`arm ${suspendId}`);
    await this.onArm();
    this.armed = suspendId;
  }

  disarm(): Promise<void> {
    this.calls.push("disarm");
    this.armed = undefined;
    return Promise.resolve();
  }
}

/** The payload of both requests. */
export function suspension(
  changes: Record<string, unknown> = {},
): Record<string, unknown> {
  return { environment_id: ENVIRONMENT, suspend_id: "s", ...changes };
}

/** The reply of an accepted request. */
export const accepted = { ...suspension(), accepted: true };

/** The reply of a refused request. */
export function refused(code: string): Record<string, unknown> {
  return { ...suspension(), accepted: false, error_code: code };
}

/** The suspension of a router that has one. */
export function suspensionOf(world: World): Suspension {
  const { suspension: present } = world.router;
  if (present === undefined) throw new Error("no suspension");
  return present;
}

/** Leaves one idle Executor of the bound Environment behind. */
export async function idleExecutor(world: BoundWorld): Promise<void> {
  world.send("execution_prepare", "idle", localPayload());
  await world.reply("preparation_status", "idle");
  const { handle } = await world.reply("preparation_status", "idle");
  world.send("execution_release", "idle", { handle });
  await world.reply("preparation_status", "idle");
  await world.quiet();
}

/** Suspends an idle router. */
export async function suspended(world: World): Promise<void> {
  await world.send("environment_quiesce", "q", suspension());
  assertEquals(world.frames.at(-1)?.payload, accepted);
  assertEquals(await suspensionOf(world).ended, "suspended");
}

/** A first frame on another connection. */
export async function firstFrame(
  world: World,
  frame: { readonly type?: string; readonly payload?: unknown } = {},
  connection: FakeConnection = new FakeConnection(),
): Promise<ResumeOutcome> {
  const text = JSON.stringify({
    type: "environment_resume",
    id: "r",
    payload: suspension(),
    ...frame,
  });
  const decoded = decodeEnvelope(text);
  if (!decoded.ok) throw new Error(decoded.reason);
  const outcome = await suspensionOf(world).resume(decoded.value, connection);
  await settleEvents();
  return outcome;
}
