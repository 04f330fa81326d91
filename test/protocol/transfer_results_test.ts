// How Core judges the results of transfers, reads and exports.
import {
  checkRuntimePrepareResult,
  decodeRuntimePrepareResult,
} from "../../src/protocol/runtime_prepare_result.ts";
import type { Decoded } from "../../src/protocol/decoded.ts";
import type { ExpectedTransferResult } from "../../src/protocol/transfer_result.ts";
import {
  checkWorkspaceExportResult,
  decodeWorkspaceExportResult,
} from "../../src/protocol/workspace_export.ts";
import {
  checkWorkspaceWriteResult,
  decodeWorkspaceWriteResult,
} from "../../src/protocol/workspace_write.ts";
import { acceptEach, inbound, refuseEach } from "./wire_rows.ts";

type Row = readonly [unknown, ExpectedTransferResult];

const READY: ExpectedTransferResult = { outcome: "ready" };
const RECEIVED: ExpectedTransferResult = { outcome: "received", offset: 2 };
const COMPLETED: ExpectedTransferResult = {
  outcome: "completed",
  size_bytes: 10,
};
const STEPS = { ready: READY, received: RECEIVED, completed: COMPLETED };

function prepare([payload, expected]: Row): Decoded<unknown> {
  const result = decodeRuntimePrepareResult(
    inbound("runtime_prepare_result", payload),
  );
  return result.ok ? checkRuntimePrepareResult(result.value, expected) : result;
}

Deno.test("runtime_prepare results that answer any step", async (t) => {
  const rejected = (error_code: string) => ({
    outcome: "rejected",
    error_code,
  });
  const failed = {
    outcome: "failed",
    error_code: "runtime_preparation_failed",
  };
  const unknown = {
    outcome: "unknown",
    error_code: "runtime_preparation_unconfirmed",
  };
  for (const [step, expected] of Object.entries(STEPS)) {
    await acceptEach<Row, unknown>(t, {
      [`invalid_request at ${step}`]: [rejected("invalid_request"), expected],
      [`resource_unavailable at ${step}`]: [
        rejected("resource_unavailable"),
        expected,
      ],
      [`capacity at ${step}`]: [
        rejected("runtime_preparation_capacity"),
        expected,
      ],
      [`unsupported at ${step}`]: [
        rejected("runtime_preparation_unsupported"),
        expected,
      ],
      [`rejected at ${step}`]: [
        rejected("runtime_preparation_rejected"),
        expected,
      ],
      [`failed at ${step}`]: [failed, expected],
      [`failed with 0 at ${step}`]: [{ ...failed, exit_code: 0 }, expected],
      [`failed with 1 at ${step}`]: [{ ...failed, exit_code: 1 }, expected],
      [`failed with 255 at ${step}`]: [{ ...failed, exit_code: 255 }, expected],
      [`unknown at ${step}`]: [unknown, expected],
    }, prepare);
  }
  await refuseEach<Row>(t, {
    "rejected as unconfirmed": [
      rejected("runtime_preparation_unconfirmed"),
      READY,
    ],
    "unknown as rejected": [
      { ...unknown, error_code: "runtime_preparation_rejected" },
      READY,
    ],
    "failed in own words": [
      { outcome: "failed", error_code: "private detail" },
      READY,
    ],
    "rejected without code": [{ outcome: "rejected" }, READY],
    "unknown without code": [{ outcome: "unknown" }, READY],
    "failed without code": [{ outcome: "failed" }, READY],
    "rejected with offset 1": [
      { ...rejected("invalid_request"), offset: 1 },
      READY,
    ],
    "unknown with size 10": [{ ...unknown, size_bytes: 10 }, READY],
    "failed with size 10": [{ ...failed, size_bytes: 10 }, READY],
    "exit code -1": [{ ...failed, exit_code: -1 }, READY],
    "exit code 256": [{ ...failed, exit_code: 256 }, READY],
    "exit code 1 when rejected": [
      { ...rejected("invalid_request"), exit_code: 1 },
      READY,
    ],
    "exit code 1 when unknown": [{ ...unknown, exit_code: 1 }, READY],
    "exit code 1 when ready": [{ outcome: "ready", exit_code: 1 }, READY],
    "unknown outcome": [{ outcome: "done" }, READY],
    "no outcome": [{}, READY],
    "undeclared member": [{ outcome: "ready", detail: 1 }, READY],
  }, prepare);
});

/** Rows that hold for every family with transfer results. */
const SUCCESSES: Readonly<Record<string, Row>> = {
  "ready": [{ outcome: "ready" }, READY],
  "received 2": [{ outcome: "received", offset: 2 }, RECEIVED],
  "completed 10": [{ outcome: "completed", size_bytes: 10 }, COMPLETED],
  "completed without a body": [{ outcome: "completed" }, {
    outcome: "completed",
    size_bytes: 0,
  }],
};
const WRONG_SUCCESSES: Readonly<Record<string, Row>> = {
  "completed while ready is due": [
    { outcome: "completed", size_bytes: 10 },
    READY,
  ],
  "ready with offset 1": [{ outcome: "ready", offset: 1 }, READY],
  "ready with size 10": [{ outcome: "ready", size_bytes: 10 }, READY],
  "ready with error_code": [
    { outcome: "ready", error_code: "invalid_request" },
    READY,
  ],
  "received 1 while 2 is due": [{ outcome: "received", offset: 1 }, RECEIVED],
  "received with size": [
    { outcome: "received", offset: 2, size_bytes: 1 },
    RECEIVED,
  ],
  "ready while received is due": [{ outcome: "ready" }, RECEIVED],
  "completed 9 while 10 is due": [
    { outcome: "completed", size_bytes: 9 },
    COMPLETED,
  ],
  "completed with offset": [
    { outcome: "completed", offset: 10, size_bytes: 10 },
    COMPLETED,
  ],
};

Deno.test("a runtime_prepare success answers exactly its step", async (t) => {
  await acceptEach(t, SUCCESSES, prepare);
  await refuseEach(t, WRONG_SUCCESSES, prepare);
});

function write([payload, expected]: Row): Decoded<unknown> {
  const result = decodeWorkspaceWriteResult(
    inbound("workspace_write_result", payload),
  );
  return result.ok ? checkWorkspaceWriteResult(result.value, expected) : result;
}

Deno.test("workspace_write results", async (t) => {
  const rejected = (error_code: string, reason?: string) => ({
    outcome: "rejected",
    error_code,
    reason,
  });
  await acceptEach(t, SUCCESSES, write);
  await refuseEach(t, WRONG_SUCCESSES, write);
  await acceptEach<Row, unknown>(t, {
    "invalid_request": [rejected("invalid_request"), READY],
    "resource_unavailable": [rejected("resource_unavailable"), READY],
    "write_capacity": [rejected("write_capacity"), READY],
    "write_unsupported": [rejected("write_unsupported"), COMPLETED],
    "write_rejected": [rejected("write_rejected"), COMPLETED],
    "directory": [
      rejected("write_rejected", "destination_directory"),
      COMPLETED,
    ],
    "unsafe": [rejected("write_rejected", "unsafe_destination"), COMPLETED],
    "unknown": [
      { outcome: "unknown", error_code: "write_unconfirmed" },
      COMPLETED,
    ],
  }, write);
  await refuseEach<Row>(t, {
    "failed is no outcome here": [
      { outcome: "failed", error_code: "write_rejected" },
      READY,
    ],
    "reason in own words": [rejected("write_rejected", "detail"), READY],
    "reason with another code": [
      rejected("invalid_request", "unsafe_destination"),
      READY,
    ],
    "reason on success": [
      { outcome: "ready", reason: "unsafe_destination" },
      READY,
    ],
    "rejected as unconfirmed": [rejected("write_unconfirmed"), READY],
    "unknown as rejected": [
      { outcome: "unknown", error_code: "write_rejected" },
      READY,
    ],
    "rejected with progress": [
      { ...rejected("invalid_request"), offset: 1 },
      READY,
    ],
  }, write);
});

type ExportRow = readonly [unknown, number];

Deno.test("workspace_export results", async (t) => {
  const judge = ([payload, received]: ExportRow) => {
    const result = decodeWorkspaceExportResult(
      inbound("workspace_export_result", payload),
    );
    return result.ok
      ? checkWorkspaceExportResult(result.value, received)
      : result;
  };
  const chunk = (offset: number, bytes: number) => ({
    outcome: "chunk",
    offset,
    data: new Uint8Array(bytes).toBase64(),
  });
  const end = (outcome: string, error_code?: string) => ({
    outcome,
    offset: 0,
    error_code,
  });
  await acceptEach<ExportRow, unknown>(t, {
    "first chunk": [chunk(0, 1), 0],
    "full chunk": [chunk(65_536, 65_536), 65_536],
    "last byte": [chunk(553_648_127, 1), 553_648_127],
    "completed": [{ outcome: "completed", offset: 1024 }, 1024],
    "failed, wrong offset": [end("failed", "invalid_request"), 7],
    "failed, read error": [end("failed", "export_failed"), 7],
    "rejected": [end("rejected", "resource_unavailable"), 0],
  }, judge);
  await refuseEach<ExportRow>(t, {
    "chunk at another place": [chunk(1, 1), 0],
    "empty chunk": [chunk(0, 0), 0],
    "65,537 bytes": [chunk(0, 65_537), 0],
    "over 528 MiB": [chunk(553_648_128, 1), 553_648_128],
    "chunk with a code": [
      { ...chunk(0, 1), error_code: "export_failed" },
      0,
    ],
    "completed early": [{ outcome: "completed", offset: 1 }, 2],
    "completed with data": [
      { ...chunk(0, 1), outcome: "completed" },
      0,
    ],
    "failed without code": [end("failed"), 0],
    "failed as unavailable": [end("failed", "resource_unavailable"), 0],
    "rejected as failed": [end("rejected", "export_failed"), 0],
    "no offset": [{ outcome: "completed" }, 0],
  }, judge);
});
