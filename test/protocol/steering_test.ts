// Active input, cancellation and suspension requests with their replies.
import { assertEquals } from "@std/assert";
import {
  decodeDeviceShutdown,
  decodePromptCancel,
} from "../../src/protocol/cancellation.ts";
import {
  decodePromptSteer,
  decodePromptSteerAck,
} from "../../src/protocol/steering.ts";
import {
  decodeEnvironmentQuiesce,
  decodeEnvironmentQuiesced,
  decodeEnvironmentResume,
} from "../../src/protocol/suspension.ts";
import { acceptEach, inbound, refuseEach } from "./wire_rows.ts";

const STEER = {
  input_id: "1",
  input: [{ content: [{ type: "input_text", text: " " }] }],
};

Deno.test("active input", async (t) => {
  const decode = (payload: unknown) =>
    decodePromptSteer(inbound("prompt_steer", payload, "run"));
  await acceptEach(t, {
    "plain": STEER,
    "durable": { ...STEER, durable_receipt: true },
    "id of 256 bytes": { ...STEER, input_id: "é".repeat(128) },
  }, decode);
  const rows: Readonly<Record<string, readonly [unknown, string]>> = {
    "no payload": [undefined, ""],
    "shape": [{ ...STEER, input: "x" }, ""],
    "blank id": [{ ...STEER, input_id: " " }, " "],
    "id over 256 bytes": [{ ...STEER, input_id: "é".repeat(129) }, ""],
    "empty input": [{ ...STEER, input: [] }, "1"],
    "empty text": [
      { ...STEER, input: [{ content: [{ type: "input_text", text: "" }] }] },
      "1",
    ],
  };
  for (const [name, [payload, input_id]] of Object.entries(rows)) {
    await t.step(`refuses, naming the input it can name: ${name}`, () => {
      const decoded = decode(payload);
      assertEquals(!decoded.ok && decoded.input_id, input_id);
    });
  }
  await t.step("refuses: no Run id", () => {
    const decoded = decodePromptSteer(inbound("prompt_steer", STEER, ""));
    assertEquals(!decoded.ok && decoded.input_id, "1");
  });
});

Deno.test("an input receipt states one fact", async (t) => {
  const decode = (payload: unknown) =>
    decodePromptSteerAck(inbound("prompt_steer_ack", payload, "run"));
  const refusal = (error_code: string) => ({
    input_id: "i",
    accepted: false,
    error_code,
  });
  await acceptEach(t, {
    "written": { input_id: "i", accepted: false, written: true },
    "accepted": { input_id: "i", accepted: true },
    ...Object.fromEntries([
      "invalid_input",
      "run_inactive",
      "input_conflict",
      "input_limit",
      "not_ready",
      "busy",
      "in_flight",
      "unsupported",
      "contract_violation",
      "rejected",
      "outcome_unknown",
    ].map((code) => [code, refusal(code)])),
    "input that could not be named": {
      ...refusal("invalid_input"),
      input_id: "",
    },
  }, decode);
  await refuseEach(t, {
    "nothing": { input_id: "i", accepted: false },
    "written and accepted": { input_id: "i", accepted: true, written: true },
    "accepted with code": { ...refusal("busy"), accepted: true },
    "written with code": { ...refusal("busy"), written: true },
    "no verdict": { input_id: "i" },
    "no input_id": { accepted: true },
    "code in own words": refusal("detail"),
  }, decode);
});

Deno.test("orders to stop need no payload", async (t) => {
  for (
    const [name, payload, ok] of [
      ["absent", undefined, true],
      ["null", null, true],
      ["empty", {}, true],
      ["unknown member", { future: 1 }, true],
      ["list", [], false],
      ["text", "x", false],
    ] as const
  ) {
    await t.step(`${name} is ${ok ? "taken" : "refused"}`, () => {
      const cancel = decodePromptCancel(inbound("prompt_cancel", payload));
      const stop = decodeDeviceShutdown(
        inbound("device_shutdown", payload, ""),
      );
      assertEquals([cancel.ok, stop.ok], [ok, ok]);
    });
  }
});

Deno.test("suspension requests", async (t) => {
  const request = { environment_id: "e", suspend_id: "s" };
  const rows: Readonly<Record<string, readonly [unknown, string, object]>> = {
    "no payload": [undefined, "x", { environment_id: "", suspend_id: "" }],
    "no id": [request, "", request],
    "long id": [request, "x".repeat(129), request],
    "blank suspend_id": [
      { ...request, suspend_id: " " },
      "x",
      { environment_id: "e", suspend_id: " " },
    ],
    "long suspend_id": [
      { ...request, suspend_id: "s".repeat(129) },
      "x",
      { environment_id: "e", suspend_id: "s".repeat(129) },
    ],
    "no environment_id": [
      { suspend_id: "s" },
      "x",
      { environment_id: "", suspend_id: "s" },
    ],
    "wrong type": [
      { ...request, suspend_id: 1 },
      "x",
      { environment_id: "", suspend_id: "" },
    ],
  };
  for (const [name, [payload, id, ids]] of Object.entries(rows)) {
    await t.step(`refuses, repeating the ids it could read: ${name}`, () => {
      for (
        const decoded of [
          decodeEnvironmentQuiesce(inbound("environment_quiesce", payload, id)),
          decodeEnvironmentResume(inbound("environment_resume", payload, id)),
        ]
      ) {
        assertEquals(decoded.ok, false);
        if (!decoded.ok) {
          const { environment_id, suspend_id } = decoded;
          assertEquals({ environment_id, suspend_id }, ids);
        }
      }
    });
  }
  await t.step("only a resume may roll back", () => {
    const rollback = { ...request, rollback: true };
    const quiesce = inbound("environment_quiesce", rollback);
    const resume = inbound("environment_resume", rollback);
    assertEquals(decodeEnvironmentQuiesce(quiesce).ok, false);
    assertEquals(decodeEnvironmentResume(resume).ok, true);
  });
  await t.step("a resume payload over 1 KiB is answered with empty ids", () => {
    const large = { ...request, future: "x".repeat(1024) };
    const decoded = decodeEnvironmentResume(
      inbound("environment_resume", large),
    );
    assertEquals(!decoded.ok && decoded.environment_id, "");
    assertEquals(
      decodeEnvironmentQuiesce(inbound("environment_quiesce", large)).ok,
      true,
    );
  });
});

Deno.test("suspension replies", async (t) => {
  const reply = { environment_id: "e", suspend_id: "s", accepted: true };
  const decode = (payload: unknown) =>
    decodeEnvironmentQuiesced(inbound("environment_quiesced", payload));
  const refused = (error_code: string) => ({
    ...reply,
    accepted: false,
    error_code,
  });
  await acceptEach(t, {
    "accepted": reply,
    "invalid_request": refused("invalid_request"),
    "resource_busy": refused("resource_busy"),
    "not_suspended": refused("not_suspended"),
  }, decode);
  await refuseEach(t, {
    "accepted with code": { ...refused("resource_busy"), accepted: true },
    "refused without code": { ...reply, accepted: false },
    "code in own words": refused("detail"),
    "no verdict": { environment_id: "e", suspend_id: "s" },
    "no ids": { accepted: true },
  }, decode);
});
