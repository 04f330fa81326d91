import { assert, assertEquals, assertRejects } from "@std/assert";
import { loadCredential } from "../../src/cli/credential.ts";
import { Mistake } from "../../src/cli/mistake.ts";
import { parseArguments } from "../../src/cli/parse.ts";
import { resolveSettings } from "../../src/cli/settings.ts";
import { makePlace, type Place } from "./command_line.ts";
import { outsideDouble } from "./outside_double.ts";

const ID = "6f0c2d1e-0f54-4b7e-9b36-2b8f1f9d7a10";
const TOKEN = "s3cret-s3cret-s3cret";
const document = {
  version: 1,
  core_url: "https://core.example/api/v1",
  device_id: ID,
  credential: TOKEN,
};

async function load(place: Place, content: unknown, ...words: string[]) {
  const text = typeof content === "string" ? content : JSON.stringify(content);
  const path = await place.write("bootstrap.json", text);
  const outside = outsideDouble({ userId: Deno.uid() });
  const parsed = parseArguments(["--bootstrap-file", path, ...words]);
  assert(parsed.kind === "command");
  return await loadCredential(
    await resolveSettings(parsed.invocation, outside),
    outside,
  );
}

async function refusal(place: Place, content: unknown, ...words: string[]) {
  const mistake = await assertRejects(
    () => load(place, content, ...words),
    Mistake,
  );
  assert(!mistake.message.includes("s3cret"), mistake.message);
  return `${mistake.exitCode} ${
    mistake.message.split(": ").slice(1).join(": ")
  }`;
}

Deno.test("a bootstrap file says Core, device and credential", async () => {
  await using place = await makePlace();
  const { credential } = await load(place, document);
  assertEquals(credential, {
    token: TOKEN,
    kind: "bootstrap",
    deviceId: ID,
    coreUrl: "https://core.example/api/v1",
  });
});

Deno.test("a bootstrap file stands alone", async () => {
  await using place = await makePlace();
  for (
    const [flag, value] of [
      ["--token-file", "/nowhere/token"],
      ["--device-id", ID],
      ["--core-url", "https://core.example"],
    ] as const
  ) {
    assertEquals(
      await refusal(place, document, flag, value),
      `64 cannot be combined with ${flag}; leave ${flag} out; the file says it`,
    );
  }
});

Deno.test("nothing but a bootstrap document is one, and the refusal tells no content", async () => {
  await using place = await makePlace();
  const other =
    "is no bootstrap file; give another form of credential with --token-file";
  const none =
    "is none of the JSON forms that Core hands out; copy the file again, or keep only the token";
  const cases: readonly (readonly [unknown, string])[] = [
    [TOKEN, other],
    [{ key_id: ID, executor_token: TOKEN }, other],
    [{ ...document, extra: 1 }, none],
    [{ ...document, Credential: TOKEN }, none],
    [{ ...document, version: 3 }, none],
    [{ ...document, device_id: undefined }, none],
    [{ ...document, core_url: "https://core.example/other" }, none],
    [
      `${JSON.stringify(document).slice(0, -1)},"version":1}`,
      "repeats a member; copy it again",
    ],
  ];
  for (const [content, rule] of cases) {
    assertEquals(await refusal(place, content), `78 ${rule}`, rule);
  }
});
