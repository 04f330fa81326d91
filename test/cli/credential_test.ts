import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { loadCredential, parseCredential } from "../../src/cli/credential.ts";
import { Mistake } from "../../src/cli/mistake.ts";
import { parseArguments } from "../../src/cli/parse.ts";
import { resolveSettings } from "../../src/cli/settings.ts";
import type { Outside } from "../../src/cli/outside.ts";
import { makePlace, type Place } from "./command_line.ts";
import { outsideDouble } from "./outside_double.ts";

const ID = "6f0c2d1e-0f54-4b7e-9b36-2b8f1f9d7a10";
const OTHER = "7f0c2d1e-0f54-4b7e-9b36-2b8f1f9d7a10";
const TOKEN = "s3cret-s3cret-s3cret";
const userId = Deno.uid();

async function load(
  path: string,
  words: readonly string[] = [],
  parts: Partial<Outside> = {},
) {
  const outside = outsideDouble({ userId, ...parts });
  const parsed = parseArguments(["--token-file", path, ...words]);
  assert(parsed.kind === "command");
  return await loadCredential(
    await resolveSettings(parsed.invocation, outside),
    outside,
  );
}

async function refusalOf(
  path: string,
  words: readonly string[] = [],
  parts: Partial<Outside> = {},
): Promise<string> {
  const mistake = await assertRejects(() => load(path, words, parts), Mistake);
  assertEquals(mistake.exitCode, 78);
  assert(!mistake.message.includes("s3cret"), mistake.message);
  assert(!mistake.message.includes("\n"));
  return mistake.message.replace(path, "FILE").replaceAll(path, "FILE");
}

Deno.test("a private file with one line is a token", async () => {
  await using place = await makePlace();
  const path = await place.write("token", `  ${TOKEN}\n`);
  const loaded = await load(path);
  assertEquals(loaded.credential, { token: TOKEN, kind: "token" });
  assertEquals(loaded.path, path);
});

const contents: readonly (readonly [string, string, string])[] = [
  ["empty", "", "FILE: is empty; write the token into it"],
  ["blank", " \n\n", "FILE: is empty; write the token into it"],
  [
    "two lines",
    `${TOKEN}\n${TOKEN}`,
    "FILE: must hold one line; keep only the line of the token",
  ],
  [
    "inner space",
    "s3cret s3cret s3cret",
    "FILE: must hold visible ASCII characters without spaces; write the token again",
  ],
  [
    "NUL",
    "s3cret\0s3cret-s3cret",
    "FILE: must hold visible ASCII characters without spaces; write the token again",
  ],
  [
    "not ASCII",
    "s3cret-s3cret-s3crét",
    "FILE: must hold visible ASCII characters without spaces; write the token again",
  ],
  [
    "15 characters",
    "s3cret-s3cret-s",
    "FILE: must hold a token of 16 to 4096 characters; check that it is complete",
  ],
  [
    "4097 characters",
    "s".repeat(4097),
    "FILE: must hold a token of 16 to 4096 characters; check that it is complete",
  ],
  [
    "17 KiB",
    "s".repeat(17 * 1024),
    "FILE: is longer than 16384 bytes; check that it is the right file",
  ],
  [
    "broken JSON",
    `{"key_id": "s3cret`,
    "FILE: starts like JSON but is none; copy it again",
  ],
  [
    "unknown JSON",
    `{"token": "${TOKEN}"}`,
    "FILE: is none of the JSON forms that Core hands out; copy the file again, or keep only the token",
  ],
  [
    "extra member",
    `{"key_id":"${ID}","executor_token":"${TOKEN}","more":1}`,
    "FILE: is none of the JSON forms that Core hands out; copy the file again, or keep only the token",
  ],
  [
    "case variant",
    `{"Key_id":"${ID}","executor_token":"${TOKEN}"}`,
    "FILE: is none of the JSON forms that Core hands out; copy the file again, or keep only the token",
  ],
  [
    "repeated member",
    `{"key_id":"${ID}","key_id":"${ID}","executor_token":"${TOKEN}"}`,
    "FILE: repeats a member; copy it again",
  ],
  [
    "executor token with a space",
    `{"key_id":"${ID}","executor_token":"s3cret s3cret s3cret"}`,
    "FILE: must hold visible ASCII characters without spaces; write the token again",
  ],
];
for (const [name, text, message] of contents) {
  Deno.test(`refused content: ${name}`, async () => {
    await using place = await makePlace();
    assertEquals(await refusalOf(await place.write("token", text)), message);
  });
}

Deno.test("bytes that are no UTF-8 are refused", async () => {
  await using place = await makePlace();
  const path = await place.write("token", "");
  await Deno.writeFile(path, new Uint8Array(32).fill(0xff));
  assertEquals(
    await refusalOf(path),
    "FILE: is not UTF-8 text; write the token again",
  );
});

Deno.test("the JSON forms give the token and the ids beside it", () => {
  const parse = (value: unknown) =>
    parseCredential(new TextEncoder().encode(JSON.stringify(value)), "FILE");
  assertEquals(
    parse({ key_id: ID, environment_id: OTHER, executor_token: TOKEN }),
    { token: TOKEN, kind: "executor", keyId: ID, environmentId: OTHER },
  );
  assertEquals(
    parse({
      server_url: "https://core.example/api/v1",
      runtime_id: ID,
      runner_credential: TOKEN,
      device_name: "host",
    }),
    {
      token: TOKEN,
      kind: "profile",
      deviceId: ID,
      coreUrl: "https://core.example/api/v1",
    },
  );
  assertEquals(
    parse({
      version: 2,
      core_url: "https://core.example/api/v1",
      device_id: ID,
      credential: TOKEN,
      harness: "codex",
    }),
    {
      token: TOKEN,
      kind: "bootstrap",
      deviceId: ID,
      coreUrl: "https://core.example/api/v1",
    },
  );
});

Deno.test("ids in the file must agree with the settings", async () => {
  await using place = await makePlace();
  const path = await place.write(
    "token",
    JSON.stringify({
      server_url: "https://core.example/api/v1",
      runtime_id: ID,
      runner_credential: TOKEN,
      device_name: "host",
    }),
  );
  assertEquals(
    await refusalOf(path, ["--device-id", OTHER]),
    "FILE: says something else than --device-id; use the file that belongs to it, or leave the setting out",
  );
  assertEquals(
    await refusalOf(path, ["--core-url", "https://other.example"]),
    "FILE: says something else than --core-url; use the file that belongs to it, or leave the setting out",
  );
  const loaded = await load(path, [
    "--device-id",
    ID,
    "--core-url",
    "https://core.example",
  ]);
  assertEquals(loaded.credential.deviceId, ID);
});

for (const mode of [0o640, 0o604, 0o660, 0o610, 0o601]) {
  Deno.test(`mode ${mode.toString(8)} is refused with the command that mends it`, async () => {
    await using place = await makePlace();
    assertEquals(
      await refusalOf(await place.write("token", TOKEN, mode)),
      "FILE: is accessible to other users; run: chmod 600 'FILE'",
    );
  });
}

Deno.test("a link, a directory, a pipe and a missing file are refused", async () => {
  await using place = await makePlace();
  const target = await place.write("target", TOKEN);
  const link = join(place.directory, "link");
  await Deno.symlink(target, link);
  assertEquals(
    await refusalOf(link),
    "FILE: is a symbolic link; name the file itself",
  );
  const directory = join(place.directory, "directory");
  await Deno.mkdir(directory, { mode: 0o700 });
  assertEquals(
    await refusalOf(directory),
    "FILE: is not a regular file; name a regular file",
  );
  const pipe = join(place.directory, "pipe");
  const made = await new Deno.Command("mkfifo", {
    args: ["-m", "600", pipe],
  }).output();
  assert(made.success);
  assertEquals(
    await refusalOf(pipe),
    "FILE: is not a regular file; name a regular file",
  );
  assertEquals(
    await refusalOf(join(place.directory, "missing")),
    "FILE: does not exist; create it with mode 0600",
  );
});

Deno.test("a second hard link is refused", async () => {
  await using place = await makePlace();
  const path = await place.write("token", TOKEN);
  await Deno.link(path, join(place.directory, "other"));
  assertEquals(
    await refusalOf(path),
    "FILE: has more than one hard link; copy it to a file of its own",
  );
});

Deno.test("a directory that others can write is refused", async () => {
  await using place = await makePlace();
  const path = await place.write("token", TOKEN);
  for (const mode of [0o720, 0o702, 0o1777]) {
    await Deno.chmod(place.directory, mode);
    const message = await refusalOf(path);
    assertEquals(
      message,
      `FILE: its directory is writable by others; run: chmod go-w '${place.directory}'`,
    );
  }
  await Deno.chmod(place.directory, 0o700);
  await load(path);
});

Deno.test({
  name: "a foreign owner is refused, root's is not",
  ignore: userId !== 0, // giving a file away needs root
  async fn() {
    await using place = await makePlace();
    const path = await place.write("token", TOKEN);
    await load(path, [], { userId: 4242 }).then(
      () => {},
      () => {}, // the directory is root's too; nothing else may be wrong
    );
    await Deno.chown(path, 4243, null);
    assertEquals(
      await refusalOf(path),
      "FILE: belongs to another user; run: chown 0 'FILE'",
    );
    await Deno.chown(path, 0, null);
    assertEquals((await load(path, [], { userId: 4242 })).path, path);
  },
});

Deno.test("only a service manager's credential may be readable by its group", async () => {
  await using place = await makePlace();
  const path = await place.write("token", TOKEN, 0o440);
  const environment = { CREDENTIALS_DIRECTORY: place.directory };
  await load(path, [], { environment });
  await Deno.chmod(path, 0o444);
  assertEquals(
    await refusalOf(path, [], { environment }),
    "FILE: is accessible to other users; run: chmod 600 'FILE'",
  );
  await Deno.chmod(path, 0o440);
  assertEquals(
    await refusalOf(path, [], {
      environment: { CREDENTIALS_DIRECTORY: `${place.directory}/else` },
    }),
    "FILE: is accessible to other users; run: chmod 600 'FILE'",
  );
});

Deno.test("without --token-file the service manager's credential comes first", async () => {
  await using place: Place = await makePlace();
  const path = await place.write("token", TOKEN, 0o400);
  const outside = outsideDouble({
    userId,
    environment: { CREDENTIALS_DIRECTORY: place.directory },
  });
  const parsed = parseArguments([]);
  assert(parsed.kind === "command");
  const settings = await resolveSettings(parsed.invocation, outside);
  assertEquals((await loadCredential(settings, outside)).path, path);
});

Deno.test("stdin gives the token and is bounded", async () => {
  const bytes = new TextEncoder().encode(`${TOKEN}\n`);
  const loaded = await load("-", [], {
    readStdin: () => Promise.resolve(bytes),
  });
  assertEquals(loaded.credential.token, TOKEN);
  assertEquals(loaded.identity, undefined);
  assertEquals(
    await refusalOf("-", [], {
      readStdin: () => Promise.reject(new RangeError()),
    }),
    "stdin: is longer than 16384 bytes; send only the token",
  );
});
