// The declaration: 29 fields, each decided, each a JSON boolean. Every rule runs once per field.
import { assertEquals, assertNotMatch, assertThrows } from "@std/assert";
import {
  CAPABILITY_NAMES,
  type CapabilityDeclaration,
  decodeCapabilities,
  encodeDeclaration,
  IncompleteDeclaration,
  validateDeclaration,
} from "../../src/protocol/capabilities.ts";
import { decodeHeartbeat } from "../../src/protocol/heartbeat.ts";
import { NOTHING_SUPPORTED, supporting } from "./declarations.ts";
import { acceptEach, inbound, refuseEach, valueOf } from "./wire_rows.ts";

Deno.test("the list of fields and the hand-written fixture agree", () => {
  assertEquals(
    [...CAPABILITY_NAMES].toSorted(),
    Object.keys(NOTHING_SUPPORTED).toSorted(),
  );
  assertEquals(CAPABILITY_NAMES.length, 29);
  assertEquals(validateDeclaration(NOTHING_SUPPORTED).ok, true);
});

Deno.test("registration refuses a declaration that leaves a field open", async (t) => {
  for (const name of CAPABILITY_NAMES) {
    await t.step(name, () => {
      for (const open of ["unspecified", 255, undefined, null, true, ""]) {
        const declaration = {
          ...NOTHING_SUPPORTED,
          [name]: open,
        } as CapabilityDeclaration;
        assertEquals(validateDeclaration(declaration).ok, false);
      }
      const { [name]: _, ...missing } = NOTHING_SUPPORTED;
      assertEquals(
        validateDeclaration(missing as CapabilityDeclaration).ok,
        false,
      );
      assertEquals(validateDeclaration(supporting(name)).ok, true);
    });
  }
});

Deno.test("registration refuses a field that nobody knows", () => {
  const extended = { ...NOTHING_SUPPORTED, future_private_value: "supported" };
  assertEquals(validateDeclaration(extended).ok, false);
  assertThrows(() => encodeDeclaration(extended), IncompleteDeclaration);
});

Deno.test("encoding writes every field or fails", async (t) => {
  for (const name of CAPABILITY_NAMES) {
    await t.step(name, () => {
      const wire = encodeDeclaration(NOTHING_SUPPORTED);
      assertEquals(Object.keys(wire).length, 29);
      assertEquals(wire[name], false);
      assertEquals(encodeDeclaration(supporting(name))[name], true);
      for (const open of ["unspecified", 255]) {
        const declaration = {
          ...NOTHING_SUPPORTED,
          [name]: open,
        } as CapabilityDeclaration;
        assertThrows(
          () => encodeDeclaration(declaration),
          IncompleteDeclaration,
        );
      }
    });
  }
});

Deno.test("decoding needs every field as a boolean", async (t) => {
  const complete = encodeDeclaration(NOTHING_SUPPORTED);
  for (const name of CAPABILITY_NAMES) {
    await t.step(name, () => {
      // A complete object first: nothing of it may fill the gap of the next one.
      assertEquals(decodeCapabilities(complete).ok, true);
      const { [name]: _, ...missing } = complete;
      assertEquals(decodeCapabilities(missing).ok, false);
      for (const value of [null, 0, 1, "true", "false", [], {}]) {
        const decoded = decodeCapabilities({ ...complete, [name]: value });
        assertEquals(decoded.ok, false);
        if (!decoded.ok) assertNotMatch(decoded.reason, new RegExp(name));
      }
      const supported = decodeCapabilities({ ...complete, [name]: true });
      assertEquals(valueOf(supported), supporting(name));
    });
  }
  await t.step("an unknown field", () => {
    const extended = { ...complete, future_private_value: false };
    assertEquals(decodeCapabilities(extended).ok, false);
  });
});

const capabilities = encodeDeclaration(NOTHING_SUPPORTED);

/** A heartbeat with one agent kind. */
function heartbeat(kind: Record<string, unknown>) {
  return {
    ts: 1,
    active_requests: 0,
    supported_agent_kinds: [{
      kind: "codex",
      available: true,
      capabilities,
      ...kind,
    }],
  };
}

Deno.test("heartbeats that Core takes and refuses", async (t) => {
  const decode = (payload: unknown) =>
    decodeHeartbeat(inbound("heartbeat", payload, ""));
  await acceptEach(t, {
    "no engine": { ts: 1, active_requests: 0 },
    "empty engine list": {
      ts: 1,
      active_requests: 0,
      supported_agent_kinds: [],
    },
    "available engine": heartbeat({}),
    "unavailable engine, complete declaration": heartbeat({ available: false }),
    "unknown top-level member": { ...heartbeat({}), future: 1 },
    "unknown agent-kind member": heartbeat({ future: 1 }),
  }, decode);
  await refuseEach(t, {
    "no capability object": {
      supported_agent_kinds: [{ kind: "codex", available: true }],
    },
    "no capability object, else complete": heartbeat({
      capabilities: undefined,
    }),
    "null capability object": heartbeat({
      available: false,
      capabilities: null,
    }),
    "empty kind": heartbeat({ kind: "" }),
    "no kind": heartbeat({ kind: undefined }),
    "no availability": heartbeat({ available: undefined }),
    "availability as text": heartbeat({ available: "true" }),
    "fractional time": { ts: 1.5, active_requests: 0 },
    "no time": { active_requests: 0 },
    "list of nulls": {
      ts: 1,
      active_requests: 0,
      supported_agent_kinds: [null],
    },
  }, decode);
});
