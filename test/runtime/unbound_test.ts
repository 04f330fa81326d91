import { assertEquals } from "@std/assert";
import { inWorld } from "./world.ts";

const uuid = "11111111-1111-4111-8111-111111111111";
const sha256 =
  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

const begin = {
  step: "begin",
  environment_id: uuid,
  session_id: uuid,
  path: "a.txt",
  sha256,
};
const directory = {
  handle: "h",
  environment_id: "e",
  path: "",
  max_bytes: 0,
  operation: "directory",
  max_entries: 1,
};

/** Frame, id, payload, and what an unbound Runtime answers; nothing where it must be silent. */
const rows:
  readonly (readonly [string, string | undefined, unknown, unknown?])[] = [
    ["runtime_prepare", "not a uuid", { step: "commit" }],
    ["runtime_prepare", uuid, { step: "nonsense" }, {
      outcome: "rejected",
      error_code: "invalid_request",
    }],
    ["runtime_prepare", uuid, { step: "commit" }, {
      outcome: "rejected",
      error_code: "resource_unavailable",
    }],
    ["runtime_prepare", uuid, {
      step: "begin",
      environment_id: uuid,
      session_id: uuid,
      action: "finalize",
      sources: {},
    }, { outcome: "rejected", error_code: "resource_unavailable" }],
    ["workspace_write", "not a uuid", begin],
    ["workspace_write", uuid, { ...begin, path: "/a" }, {
      outcome: "rejected",
      error_code: "invalid_request",
    }],
    ["workspace_write", uuid, begin, {
      outcome: "rejected",
      error_code: "resource_unavailable",
    }],
    ["workspace_write", uuid, { step: "commit" }, {
      outcome: "rejected",
      error_code: "resource_unavailable",
    }],
    ["workspace_read", "x".repeat(129), directory],
    ["workspace_read", " ", directory, {
      outcome: "rejected",
      error_code: "invalid_request",
    }],
    ["workspace_read", "read", { ...directory, max_entries: 0 }, {
      outcome: "rejected",
      error_code: "invalid_request",
    }],
    ["workspace_read", "read", { ...directory, path: "a".repeat(9_000) }, {
      outcome: "rejected",
      error_code: "invalid_request",
    }],
    ["workspace_read", "read", directory, {
      outcome: "rejected",
      error_code: "resource_unavailable",
    }],
    ["workspace_export", "", {
      step: "begin",
      handle: "h",
      environment_id: "e",
    }],
    ["workspace_export", "export", { step: "begin" }],
    ["workspace_export", "export", { step: "cancel" }],
    ["workspace_export", "export", {
      step: "begin",
      handle: "h",
      environment_id: "e",
    }, { outcome: "rejected", offset: 0, error_code: "resource_unavailable" }],
    ["workspace_export", "export", { step: "next" }, {
      outcome: "rejected",
      offset: 0,
      error_code: "resource_unavailable",
    }],
    ["environment_quiesce", "q", { environment_id: "e", suspend_id: "s" }, {
      environment_id: "e",
      suspend_id: "s",
      accepted: false,
      error_code: "invalid_request",
    }],
    ["environment_resume", "r", { environment_id: "e", suspend_id: "s" }, {
      environment_id: "e",
      suspend_id: "s",
      accepted: false,
      error_code: "not_suspended",
    }],
    ["environment_resume", "r", {
      environment_id: "e".repeat(1_100),
      suspend_id: "s",
    }, {
      environment_id: "",
      suspend_id: "",
      accepted: false,
      error_code: "not_suspended",
    }],
  ];

for (const [index, [type, id, payload, answer]] of rows.entries()) {
  const what = answer === undefined ? "is not answered" : "is refused";
  Deno.test(`unbound: ${type} ${what} (row ${index})`, () =>
    inWorld(async (world) => {
      await world.send(type, id, payload);
      assertEquals(
        world.frames.map((frame) => [frame.id, frame.payload, frame.trace]),
        answer === undefined ? [] : [[id, answer, undefined]],
      );
    }));
}
