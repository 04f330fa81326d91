/**
 * Sends one body, or none, through the bounded exchange of a family and judges each result as Core
 * does: a success answers only its own step, and whatever is not exact leaves the effect unknown.
 */
import { createHash } from "node:crypto";
import { MAX_CHUNK_BYTES } from "../protocol/limits.ts";
import type { RuntimePrepareBegin } from "../protocol/runtime_prepare.ts";
import { checkRuntimePrepareResult } from "../protocol/runtime_prepare_result.ts";
import type { ExpectedTransferResult } from "../protocol/transfer_result.ts";
import {
  checkWorkspaceWriteResult,
  type WorkspaceWriteBegin,
} from "../protocol/workspace_write.ts";
import type { DeviceSession } from "./device_session.ts";
import type { ExchangeOutcome } from "./exchanges.ts";

/** How a transfer ended. Only `completed`, `rejected` and `failed` are proofs. */
export type TransferOutcome =
  | { readonly kind: "completed" }
  /** Nothing was applied. */
  | {
    readonly kind: "rejected";
    readonly code: string;
    readonly reason?: string;
  }
  | { readonly kind: "failed"; readonly exitCode?: number }
  | { readonly kind: "unknown"; readonly why: string };

/** Told of every step that was confirmed, in order. */
export type StepListener = (step: string) => void;

/** Lower-case hex SHA-256 of a body. */
export function digestOf(body: Uint8Array): string {
  return createHash("sha256").update(body).digest("hex");
}

/** Writes a file. `id` is the mutation id, a canonical UUID. */
export function transferWrite(
  session: DeviceSession,
  id: string,
  begin: WorkspaceWriteBegin,
  body: Uint8Array,
  confirmed: StepListener = () => {},
): Promise<TransferOutcome> {
  return transfer(body, confirmed, {
    begin: () => session.exchange("workspace_write", id, begin),
    chunk: (offset, data) =>
      session.exchange("workspace_write", id, {
        step: "chunk",
        data,
        ...(offset === 0 ? {} : { offset }),
      }),
    commit: () => session.exchange("workspace_write", id, { step: "commit" }),
    judge(outcome, expected) {
      const { frame } = outcome;
      if (frame.type !== "workspace_write_result") return undefined;
      return checkWorkspaceWriteResult(frame.payload, expected).ok
        ? frame.payload
        : undefined;
    },
  });
}

/** Carries out one step of an initialization. */
export function transferPreparation(
  session: DeviceSession,
  id: string,
  begin: RuntimePrepareBegin,
  body: Uint8Array = new Uint8Array(),
  confirmed: StepListener = () => {},
): Promise<TransferOutcome> {
  return transfer(body, confirmed, {
    begin: () => session.exchange("runtime_prepare", id, begin),
    chunk: (offset, data) =>
      session.exchange("runtime_prepare", id, {
        step: "chunk",
        data,
        ...(offset === 0 ? {} : { offset }),
      }),
    commit: () => session.exchange("runtime_prepare", id, { step: "commit" }),
    judge(outcome, expected) {
      const { frame } = outcome;
      if (frame.type !== "runtime_prepare_result") return undefined;
      return checkRuntimePrepareResult(frame.payload, expected).ok
        ? frame.payload
        : undefined;
    },
  });
}

interface Result {
  readonly outcome: string;
  readonly error_code?: string;
  readonly reason?: string;
  readonly exit_code?: number;
}

interface Family {
  begin(): Promise<ExchangeOutcome>;
  chunk(offset: number, data: Uint8Array): Promise<ExchangeOutcome>;
  commit(): Promise<ExchangeOutcome>;
  /** The result, when it answers its step. */
  judge(
    outcome: Extract<ExchangeOutcome, { kind: "result" }>,
    expected: ExpectedTransferResult,
  ): Result | undefined;
}

async function transfer(
  body: Uint8Array,
  confirmed: StepListener,
  family: Family,
): Promise<TransferOutcome> {
  const step = async (
    name: string,
    sent: Promise<ExchangeOutcome>,
    expected: ExpectedTransferResult,
  ): Promise<TransferOutcome | undefined> => {
    const outcome = await sent;
    if (outcome.kind === "lost") return unknown(outcome.reason);
    if (outcome.kind === "unconfirmed") return unknown("no result");
    const result = family.judge(outcome, expected);
    if (!result) return unknown("the result does not answer its step");
    if (result.outcome !== expected.outcome) return refusal(result);
    confirmed(name);
    return undefined;
  };
  const begun = await step("ready", family.begin(), { outcome: "ready" });
  if (begun) return begun;
  for (let offset = 0; offset < body.length; offset += MAX_CHUNK_BYTES) {
    const data = body.subarray(offset, offset + MAX_CHUNK_BYTES);
    const total = offset + data.length;
    const refused = await step(
      `received ${total}`,
      family.chunk(offset, data),
      {
        outcome: "received",
        offset: total,
      },
    );
    if (refused) return refused;
  }
  const ended = await step("completed", family.commit(), {
    outcome: "completed",
    size_bytes: body.length,
  });
  return ended ?? { kind: "completed" };
}

function refusal(result: Result): TransferOutcome {
  switch (result.outcome) {
    case "rejected":
      return {
        kind: "rejected",
        code: result.error_code ?? "",
        ...(result.reason === undefined ? {} : { reason: result.reason }),
      };
    case "failed":
      return {
        kind: "failed",
        ...(result.exit_code === undefined
          ? {}
          : { exitCode: result.exit_code }),
      };
    default:
      return unknown(result.error_code ?? "an early success");
  }
}

function unknown(why: string): TransferOutcome {
  return { kind: "unknown", why };
}
