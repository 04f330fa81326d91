import { assertEquals } from "@std/assert";
import { PROTOCOL_VERSION } from "../../src/protocol/version.ts";
import { refusedDial } from "../contract/scripted_runtime.ts";
import { CREDENTIAL, DEVICE, Lab } from "./lab.ts";

const OTHER = "00000000-0000-4000-8000-00000000000a";

const devices = {
  [DEVICE]: { credential: CREDENTIAL },
  [OTHER]: { credential: CREDENTIAL, runtimeType: "other" },
} as const;

interface BootstrapRow {
  readonly name: string;
  readonly method?: string;
  readonly authorization?: string;
  readonly body?: string;
  readonly status: number;
  readonly error: string;
}

const bearer = `Bearer ${CREDENTIAL}`;
const good = JSON.stringify({ device_id: DEVICE });
const bootstrapRows: readonly BootstrapRow[] = [
  { name: "GET", method: "GET", status: 405, error: "method_not_allowed" },
  { name: "no bearer", body: good, status: 401, error: "missing_bearer" },
  {
    name: "another scheme",
    authorization: `Basic ${CREDENTIAL}`,
    body: good,
    status: 401,
    error: "missing_bearer",
  },
  {
    name: "another case of the scheme",
    authorization: `bearer ${CREDENTIAL}`,
    body: good,
    status: 401,
    error: "missing_bearer",
  },
  {
    name: "no JSON",
    authorization: bearer,
    body: "{",
    status: 400,
    error: "bad_json",
  },
  {
    name: "an array",
    authorization: bearer,
    body: "[]",
    status: 400,
    error: "bad_json",
  },
  {
    name: "a body over the limit",
    authorization: bearer,
    body: JSON.stringify({ device_id: DEVICE, more: "x".repeat(5000) }),
    status: 400,
    error: "bad_json",
  },
  {
    name: "no device id",
    authorization: bearer,
    body: "{}",
    status: 400,
    error: "missing_device_id",
  },
  {
    name: "an unknown device",
    authorization: bearer,
    body: JSON.stringify({ device_id: "x" }),
    status: 401,
    error: "unknown_device",
  },
  {
    name: "a wrong credential",
    authorization: "Bearer wrong",
    body: good,
    status: 401,
    error: "bad_credential",
  },
  {
    name: "another kind of Runtime",
    authorization: bearer,
    body: JSON.stringify({ device_id: OTHER }),
    status: 403,
    error: "wrong_runtime_type",
  },
];

for (const row of bootstrapRows) {
  Deno.test(`bootstrap refuses ${row.name} with ${row.status} ${row.error}`, async () => {
    await using lab = await Lab.open({ devices });
    const response = await fetch(lab.core.bootstrapUrl, {
      method: row.method ?? "POST",
      headers: row.authorization ? { authorization: row.authorization } : {},
      ...(row.body === undefined ? {} : { body: row.body }),
    });
    assertEquals(response.status, row.status);
    assertEquals((await response.json()).error, row.error);
  });
}

Deno.test("bootstrap names the socket, the interval and the wire version", async () => {
  await using lab = await Lab.open();
  const response = await fetch(lab.core.bootstrapUrl, {
    method: "POST",
    headers: { authorization: `Bearer  ${CREDENTIAL} ` },
    body: good,
  });
  const answer = await response.json();
  assertEquals(answer, {
    device_id: DEVICE,
    workspace_id: answer.workspace_id,
    ws_url: `${lab.core.origin.replace("http", "ws")}/api/v1/agent-daemon/ws`,
    heartbeat_seconds: 15,
    protocol_version: PROTOCOL_VERSION,
  });
});

Deno.test("another path is unknown", async () => {
  await using lab = await Lab.open();
  const response = await fetch(`${lab.core.origin}/api/v1/other`);
  assertEquals(response.status, 404);
  await response.body?.cancel();
});

interface DialRow {
  readonly name: string;
  readonly deviceId?: string;
  readonly version?: string;
  readonly credential?: string;
  readonly status: number;
  readonly error: string;
}

// Parameters, then version, then credential: the first broken rule answers.
const dialRows: readonly DialRow[] = [
  {
    name: "no device id, whatever else is wrong",
    deviceId: "",
    version: "0",
    credential: "wrong",
    status: 400,
    error: "missing_params",
  },
  {
    name: "no version",
    version: "",
    status: 400,
    error: "missing_params",
  },
  {
    name: "no bearer",
    credential: "",
    version: "0",
    status: 400,
    error: "missing_params",
  },
  {
    name: "another version, also with a wrong credential",
    version: "0.12.1",
    credential: "wrong",
    status: 426,
    error: "incompatible_version",
  },
  {
    name: "an unknown device",
    deviceId: "x",
    status: 401,
    error: "unknown_device",
  },
  {
    name: "a wrong credential",
    credential: "wrong",
    status: 401,
    error: "bad_credential",
  },
  {
    name: "another kind of Runtime",
    deviceId: OTHER,
    status: 403,
    error: "wrong_runtime_type",
  },
];

for (const row of dialRows) {
  Deno.test(`a dial with ${row.name} is refused with ${row.status} ${row.error}`, async () => {
    await using lab = await Lab.open({ devices });
    const refusal = await refusedDial({
      origin: lab.core.origin,
      deviceId: row.deviceId ?? DEVICE,
      credential: row.credential ?? CREDENTIAL,
      ...(row.version === undefined ? {} : { version: row.version }),
    });
    assertEquals(refusal.status, row.status);
    assertEquals(JSON.parse(refusal.body).error, row.error);
    assertEquals(refusal.body.includes(CREDENTIAL), false);
  });
}
