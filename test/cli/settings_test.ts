import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { Mistake } from "../../src/cli/mistake.ts";
import { parseArguments } from "../../src/cli/parse.ts";
import { resolveSettings, type Settings } from "../../src/cli/settings.ts";
import { outsideDouble } from "./outside_double.ts";

const ID = "6f0c2d1e-0f54-4b7e-9b36-2b8f1f9d7a10";
const OTHER = "7f0c2d1e-0f54-4b7e-9b36-2b8f1f9d7a10";

function resolveFrom(
  words: readonly string[],
  environment: Record<string, string> = {},
): Promise<Settings> {
  const parsed = parseArguments(words);
  assert(parsed.kind === "command");
  return resolveSettings(parsed.invocation, outsideDouble({ environment }));
}

async function withConfig(
  text: string,
  body: (path: string) => Promise<void>,
): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    const path = join(directory, "config.json");
    await Deno.writeTextFile(path, text);
    await body(path);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("the command line wins over the environment, it over the file, it over the default", async () => {
  await withConfig(
    `{ // the operator's file
      "device_id": "${OTHER}", "max_idle": 3, "log_level": "debug",
      "harness": { "codex": { "bin": "off" } },
    }`,
    async (path) => {
      const settings = await resolveFrom(
        ["--config", path, "--device-id", ID],
        { AGENT_DAEMON_DEVICE_ID: OTHER, AGENT_DAEMON_MAX_IDLE: "2" },
      );
      assertEquals(settings.values.deviceId, ID);
      assertEquals(settings.origins.deviceId, "flag");
      assertEquals(settings.values.maximumIdle, 2);
      assertEquals(settings.origins.maximumIdle, "variable");
      assertEquals(settings.values.logLevel, "debug");
      assertEquals(settings.origins.logLevel, "file");
      assertEquals(settings.values.codexProgram, "off");
      assertEquals(settings.values.maximumExecutions, 4);
      assertEquals(settings.origins.maximumExecutions, "default");
    },
  );
});

Deno.test("a relative path on the command line is taken from the working directory", async () => {
  const settings = await resolveFrom(["--workspace", "project/../other"]);
  assertEquals(settings.values.workspace, "/work-here/other");
});

Deno.test("an empty variable counts as not set", async () => {
  const settings = await resolveFrom([], { AGENT_DAEMON_DEVICE_ID: "" });
  assertEquals(settings.values.deviceId, undefined);
});

const proxies: readonly (readonly [
  string,
  Record<string, string>,
  readonly (string | undefined)[],
])[] = [
  ["upper case", { HTTPS_PROXY: "http://a:1", NO_PROXY: "x" }, [
    "http://a:1",
    "x",
  ]],
  ["lower case", { https_proxy: "http://b:1", no_proxy: "y" }, [
    "http://b:1",
    "y",
  ]],
  ["both cases, the lower one winning", {
    HTTPS_PROXY: "http://a:1",
    https_proxy: "http://b:1",
    NO_PROXY: "x",
    no_proxy: "y",
  }, ["http://b:1", "y"]],
  ["an empty one beside a set one", {
    HTTPS_PROXY: "http://a:1",
    https_proxy: "",
  }, ["http://a:1", undefined]],
  ["others only", { ALL_PROXY: "socks5://c:1", HTTP_PROXY: "http://d:1" }, [
    undefined,
    undefined,
  ]],
];
for (const [what, environment, expected] of proxies) {
  Deno.test(`proxy variables: ${what}`, async () => {
    const { values } = await resolveFrom([], environment);
    assertEquals([values.proxy, values.noProxy], expected);
  });
}

Deno.test("a proxy: the command line wins over the environment, it over the file", async () => {
  await withConfig(
    `{ "proxy": "http://file:1", "no_proxy": "file" }`,
    async (path) => {
      const environment = { https_proxy: "http://variable:1" };
      const words = ["--config", path];
      const both = await resolveFrom(words, environment);
      assertEquals(both.values.proxy, "http://variable:1");
      assertEquals(both.origins.proxy, "variable");
      assertEquals(both.values.noProxy, "file");
      const flag = [...words, "--proxy", "http://flag:1"];
      const all = await resolveFrom(flag, environment);
      assertEquals(all.values.proxy, "http://flag:1");
      assertEquals(all.origins.proxy, "flag");
    },
  );
});

const accepted: readonly (readonly [string, string])[] = [
  ["https://core.example", "https://core.example/api/v1"],
  ["https://core.example/", "https://core.example/api/v1"],
  ["https://core.example:8443/api/v1", "https://core.example:8443/api/v1"],
  ["https://core.example/api/v1/", "https://core.example/api/v1"],
  [
    "wss://core.example/api/v1/agent-daemon/ws",
    "https://core.example/api/v1",
  ],
  ["http://127.0.0.1:8080", "http://127.0.0.1:8080/api/v1"],
  ["http://[::1]:8080", "http://[::1]:8080/api/v1"],
  ["ws://localhost/api/v1/agent-daemon/ws", "http://localhost/api/v1"],
];
for (const [text, url] of accepted) {
  Deno.test(`Core URL accepted: ${text}`, async () => {
    const settings = await resolveFrom(["--core-url", text]);
    assertEquals(settings.values.coreUrl, url);
  });
}

const flagMistakes: readonly (readonly [readonly string[], string])[] = [
  [["--core-url", "core.example"], "--core-url: is not a URL"],
  [
    ["--core-url", "http://core.example"],
    "--core-url: may be plain http for loopback only",
  ],
  [
    ["--core-url", "http://127.0.0.1.example"],
    "--core-url: may be plain http for loopback only",
  ],
  [["--core-url", "ftp://core.example"], "--core-url: must be https"],
  [
    ["--core-url", "https://s3cret@core.example"],
    "--core-url: must not hold credentials",
  ],
  [
    ["--core-url", "https://core.example?token=s3cret"],
    "--core-url: must have no query, fragment or space",
  ],
  [
    ["--core-url", "https://core.example/api/v2"],
    "--core-url: must be an origin, or end in /api/v1 or /api/v1/agent-daemon/ws",
  ],
  [
    ["--device-id", ID.toUpperCase()],
    "--device-id: must be a canonical lower-case UUID",
  ],
  [
    ["--device-id", "00000000-0000-0000-0000-000000000000"],
    "--device-id: must be a canonical lower-case UUID",
  ],
  [
    ["--max-executions", "5"],
    "--max-executions: must be a whole number from 1 to 4",
  ],
  [
    ["--max-executions", "0"],
    "--max-executions: must be a whole number from 1 to 4",
  ],
  [["--max-idle", "1.5"], "--max-idle: must be a whole number from 0 to 16"],
  [
    ["--permissions", "always"],
    "--permissions: must be one of unattended, ask",
  ],
  [
    ["--log-level", "loud"],
    "--log-level: must be one of debug, info, warn, error",
  ],
  [
    ["--shutdown-timeout", "90"],
    "--shutdown-timeout: must be a duration such as 90s, 2m or 500ms, at most 24h",
  ],
  [["--proxy", "socks5://x"], "--proxy: must be an http or https URL"],
  [["--proxy", "http://u:%zz@x"], "--proxy: must be an http or https URL"],
];
for (const [words, start] of flagMistakes) {
  Deno.test(`bad flag: ${words.join(" ")}`, async () => {
    const mistake = await assertRejects(() => resolveFrom(words), Mistake);
    assert(mistake.message.startsWith(`${start}; `), mistake.message);
    assertEquals(mistake.exitCode, 64);
    assert(!mistake.message.includes("s3cret"));
    assert(!mistake.message.includes("\n"));
  });
}

const variableMistakes: readonly (readonly [string, string, string])[] = [
  [
    "AGENT_DAEMON_DEVICE_ID",
    "s3cret",
    "AGENT_DAEMON_DEVICE_ID: must be a canonical lower-case UUID; copy it from Core's console",
  ],
  [
    "AGENT_DAEMON_WORKSPACE",
    "relative",
    "AGENT_DAEMON_WORKSPACE: must be a clean absolute path, without . or .. and without a trailing slash; write the full path",
  ],
  [
    "AGENT_DAEMON_TOKEN",
    "s3cret",
    "AGENT_DAEMON_TOKEN: is not a known variable; did you mean AGENT_DAEMON_TOKEN_FILE?",
  ],
  [
    "AGENT_DAEMON_WORKSPCE",
    "/x",
    "AGENT_DAEMON_WORKSPCE: is not a known variable; did you mean AGENT_DAEMON_WORKSPACE?",
  ],
  [
    "AGENT_DAEMON_s3cret",
    "x",
    "AGENT_DAEMON_…: is not a known variable; unset it; see agent-daemon help run",
  ],
];
for (const [name, value, message] of variableMistakes) {
  Deno.test(`bad variable: ${name}`, async () => {
    const mistake = await assertRejects(
      () => resolveFrom([], { [name]: value }),
      Mistake,
    );
    assertEquals(mistake.message, message);
    assertEquals(mistake.exitCode, 78);
  });
}

const fileMistakes: readonly (readonly [string, string])[] = [
  ["{", "FILE:1: is not JSON"],
  ['{\n\n  "device_id": s3cret }', "FILE:3: is not JSON"],
  ["[]", "FILE: must be a JSON object"],
  ['{"harness": "s3cret"}', "FILE: harness: must be a JSON object"],
  [
    '{"divice_id": "x"}',
    "FILE: has a member that is not known; did you mean device_id?",
  ],
  [
    '{"token": "s3cret"}',
    "FILE: has a member that is not known; did you mean token_file?",
  ],
  [
    '{"s3cret_s3cret": 1}',
    "FILE: has a member that is not known; known are ",
  ],
  [
    '{"harness": {"codex": {"bim": "off"}}}',
    "FILE: harness.codex: has a member that is not known; did you mean bin?",
  ],
  [
    '{"harness": {"codex": {"bin": "s3cret"}}}',
    "FILE: harness.codex.bin: must be off or a clean absolute path",
  ],
  ['{"max_idle": 17}', "FILE: max_idle: must be a whole number from 0 to 16"],
  [
    '{"device_id": 5}',
    "FILE: device_id: must be a canonical lower-case UUID",
  ],
  [
    '{"core_url": "http://core.example"}',
    "FILE: core_url: may be plain http for loopback only",
  ],
  ['{"__proto__": {"x": 1}}', "FILE: has a member that is not known"],
];
for (const [text, start] of fileMistakes) {
  Deno.test(`bad file: ${text.replaceAll("\n", "⏎")}`, async () => {
    await withConfig(text, async (path) => {
      const mistake = await assertRejects(
        () => resolveFrom(["--config", path]),
        Mistake,
      );
      const message = mistake.message.replaceAll(path, "FILE");
      assert(message.startsWith(start), message);
      assertEquals(mistake.exitCode, 78);
      assert(!message.includes("s3cret"), message);
      assert(!message.includes("\n"));
    });
  });
}

Deno.test("a named configuration file must exist, the default one need not", async () => {
  const mistake = await assertRejects(
    () => resolveFrom(["--config", "/nonexistent/config.json"]),
    Mistake,
  );
  assertEquals(
    mistake.message,
    "/nonexistent/config.json: does not exist; create it, or leave --config out",
  );
  assertEquals(mistake.exitCode, 78);
  assertEquals((await resolveFrom([])).configExists, false);
});

Deno.test("a configuration file that is too long is refused unread", async () => {
  await withConfig(`{}${" ".repeat(65_536)}`, async (path) => {
    const mistake = await assertRejects(
      () => resolveFrom(["--config", path]),
      Mistake,
    );
    assertEquals(
      mistake.message,
      `${path}: must be at most 64 KiB; shorten it`,
    );
  });
});
