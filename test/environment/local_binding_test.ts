// The binding: which Environments it accepts, and what an accepted one comes to.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { CompletionMarker } from "../../src/environment/completion_marker.ts";
import { applyStep } from "../../src/environment/installation.ts";
import { installedServerCommand } from "../../src/environment/installed_server.ts";
import {
  InstalledServerError,
  LocalBinding,
} from "../../src/environment/local_binding.ts";
import { InvalidPackage } from "../../src/environment/package_files.ts";
import type { LocalEnvironment } from "../../src/protocol/configuration.ts";
import type { RuntimePrepareBegin } from "../../src/protocol/runtime_prepare.ts";
import type { CapabilitySources } from "../../src/protocol/sources.ts";
import { TransferBody } from "../../src/transfer/body.ts";
import { directoryAccess } from "../../src/workspace/root.ts";
import { Installation, skillText, zip } from "./support.ts";

const FOREIGN = "44444444-4444-4444-8444-444444444444";
const never = new AbortController().signal;

function bindingOf(installation: Installation): LocalBinding {
  return new LocalBinding({
    ...installation.parts,
    launcher: ({ packageRoot, name }) => ({
      command: "/launcher",
      arguments: [packageRoot, name],
    }),
  });
}

function environment(
  installation: Installation,
  changes: Partial<LocalEnvironment> = {},
): LocalEnvironment {
  return {
    id: installation.parts.identity.environmentId,
    workspace_directory: "/workspace",
    capability_sources: null,
    ...changes,
  };
}

const skill = { type: "inline", name: "example", description: "Example" };

const rows: readonly (readonly [
  string,
  (path: string) => Partial<LocalEnvironment>,
  string | undefined,
])[] = [
  ["the alias", () => ({}), undefined],
  [
    "the bound path itself",
    (path) => ({ workspace_directory: path }),
    undefined,
  ],
  [
    "a path below it",
    (path) => ({ workspace_directory: `${path}/sub` }),
    "invalid_configuration",
  ],
  [
    "the bound path with a slash",
    (path) => ({ workspace_directory: `${path}/` }),
    "invalid_configuration",
  ],
  ["another Environment", () => ({ id: FOREIGN }), "invalid_configuration"],
  [
    "network for all",
    () => ({ network_access: "enabled", allowed_domains: [] }),
    undefined,
  ],
  [
    "no network",
    () => ({ network_access: "disabled" }),
    "unsupported_configuration",
  ],
  [
    "a network of some",
    () => ({ network_access: "restricted", allowed_domains: ["a.example"] }),
    "unsupported_configuration",
  ],
  [
    "domains alone",
    () => ({ allowed_domains: ["a.example"] }),
    "unsupported_configuration",
  ],
  [
    "a selection",
    () => ({ capability_sources: { skills: [skill] }, capabilities: true }),
    undefined,
  ],
  [
    "capabilities without a selection",
    () => ({ capabilities: true }),
    "invalid_configuration",
  ],
  [
    "a selection without capabilities",
    () => ({ capability_sources: { skills: [skill] }, capabilities: false }),
    "invalid_configuration",
  ],
  [
    "a Skill of another type",
    () => ({ capability_sources: { skills: [{ ...skill, type: "other" }] } }),
    "invalid_configuration",
  ],
  [
    "a directory of another system",
    () => ({ capability_sources: { directories: ["C:\\skills"] } }),
    "invalid_configuration",
  ],
  [
    "51 plugins",
    () => ({
      capability_sources: { plugins: new Array(51).fill(skill) },
    }),
    "invalid_configuration",
  ],
];

Deno.test("an Environment is accepted only as it was bound", () => {
  using installation = new Installation();
  const binding = bindingOf(installation);
  const { sessionId } = installation.parts.identity;
  for (const [what, changes, code] of rows) {
    const requested = environment(
      installation,
      changes(installation.workspacePath),
    );
    const judged = binding.resolve(requested, sessionId);
    assertEquals(judged.ok ? undefined : judged.code, code, what);
    const foreign = binding.resolve(requested, FOREIGN);
    assertEquals(foreign.ok, false, `${what}, another Session`);
  }
});

Deno.test("the read-only profile needs the Environment, the Session and no foreign network policy, nothing else", () => {
  using installation = new Installation();
  const binding = bindingOf(installation);
  const key = `agents-api-${installation.parts.identity.sessionId}`;
  const judge = (changes: Partial<LocalEnvironment>, stateKey = key) =>
    binding.refuseReadOnly(environment(installation, changes), stateKey);
  assertEquals(judge({}), undefined);
  assertEquals(judge({ workspace_directory: "/elsewhere" }), undefined);
  assertEquals(judge({ capabilities: true }), undefined);
  assertEquals(judge({ id: FOREIGN }), "invalid_configuration");
  assertEquals(judge({}, `agents-api-${FOREIGN}`), "invalid_configuration");
  assertEquals(
    judge({ network_access: "disabled" }),
    "unsupported_configuration",
  );
});

/** Prepares an accepted Environment. */
function prepare(
  installation: Installation,
  changes: Partial<LocalEnvironment> = {},
  signal = never,
) {
  const judged = bindingOf(installation).resolve(
    environment(installation, changes),
    installation.parts.identity.sessionId,
  );
  assert(judged.ok);
  return judged.value.prepare(signal);
}

Deno.test("without an initialization the defaults are frozen and an empty selection is sealed, once", async () => {
  using installation = new Installation();
  const first = await prepare(installation);
  assertEquals(first.mcpServers, []);
  assertEquals(first.environment.skillDirectories, []);
  assertEquals(first.environment.workspaceRoot, installation.workspacePath);
  const { PATH } = first.environment.toolEnvironment;
  assert(PATH?.startsWith(installation.path("packages", "npm", "bin")));
  assertEquals(Object.keys(first.environment.toolEnvironment).sort(), [
    "PATH",
    "PYTHONPATH",
  ]);
  assertEquals(await prepare(installation), first);
  await assertRejects(
    () => prepare(installation, { capability_sources: { skills: [skill] } }),
    InvalidPackage,
  );
});

Deno.test("an aborted preparation writes nothing", async () => {
  using installation = new Installation();
  await assertRejects(() =>
    prepare(installation, {}, AbortSignal.abort(new Error("stop")))
  );
  assertEquals([...Deno.readDirSync(installation.path("capabilities"))], []);
});

Deno.test("what is missing or exchanged fails the preparation", async (t) => {
  const cases: readonly (readonly [
    string,
    (installation: Installation) => Promise<unknown>,
  ])[] = [
    [
      "variables that were never configured",
      (installation) => prepare(installation, { tool_environment: true }),
    ],
    ["an exchanged workspace", (installation) => {
      const { workspacePath } = installation;
      Deno.renameSync(workspacePath, `${workspacePath}-old`);
      Deno.mkdirSync(workspacePath);
      return prepare(installation);
    }],
    ["a sealed selection that is gone", async (installation) => {
      await prepare(installation);
      Deno.removeSync(installation.path("capabilities", "installed.json"));
      await assertRejects(() => prepare(installation));
      return await prepare(installation); // the first attempt made no new one
    }],
    ["variables that are gone after the seal", async (installation) => {
      await prepare(installation);
      Deno.removeSync(installation.path("initialization", "tool-env.json"));
      return await prepare(installation);
    }],
    ["a marker of another capability root", async (installation) => {
      await prepare(installation);
      const [name] = markers(installation);
      Deno.writeTextFileSync(
        installation.path("markers", name ?? ""),
        '{"capability_root":"/elsewhere"}\n',
      );
      return await prepare(installation);
    }],
    ["a lock that another process holds", async (installation) => {
      const { identity, markerDirectory, capabilities } = installation.parts;
      using _held = await CompletionMarker.open(
        markerDirectory,
        identity,
        capabilities.path,
      );
      return await prepare(installation);
    }],
  ];
  for (const [what, body] of cases) {
    await t.step(what, async () => {
      using installation = new Installation();
      await assertRejects(() => body(installation));
    });
  }
});

function markers(installation: Installation): string[] {
  return [...Deno.readDirSync(installation.path("markers"))]
    .map(({ name }) => name).filter((name) => name.endsWith(".json"));
}

Deno.test("a sealed selection without its marker is verified and gets the marker back", async () => {
  using installation = new Installation();
  await prepare(installation);
  const [name] = markers(installation);
  const path = installation.path("markers", name ?? "");
  const content = Deno.readTextFileSync(path);
  Deno.removeSync(path);
  await prepare(installation);
  assertEquals(Deno.readTextFileSync(path), content);
  assertEquals((Deno.lstatSync(path).mode ?? 0) & 0o777, 0o600);
});

/** Carries out one initialization step that must succeed. */
async function step(
  installation: Installation,
  action: Readonly<Record<string, unknown>>,
  data: Uint8Array = new Uint8Array(),
): Promise<void> {
  const body = new TransferBody({ sizeBytes: data.length });
  if (data.length > 0) body.append(0, data);
  const begin = { step: "begin", ...action } as unknown as RuntimePrepareBegin;
  const outcome = await applyStep(installation.parts, begin, body, never);
  assertEquals(outcome.outcome, "completed");
}

const SERVERS = {
  web: {
    type: "http",
    url: "https://mcp.example/path",
    bearer_token_env_var: "TOKEN",
    http_headers: { "X-Kind": "test" },
  },
  tool: {
    command: "./bin/server",
    args: ["--quiet"],
    env_vars: ["NAME"],
    cwd: "bin",
  },
};
const plugin = { type: "inline", name: "plugin", description: "Servers" };
const sources: CapabilitySources = { skills: [skill], plugins: [plugin] };

/** A Skill and a plugin with two servers, sealed. */
async function installed(
  installation: Installation,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  await step(installation, {
    action: "initialize",
    initialization: { action: "configure", env },
  });
  await step(
    installation,
    { action: "skill", skill },
    await zip([{ name: "s/SKILL.md", text: skillText() }]),
  );
  await step(
    installation,
    { action: "plugin", plugin, slot: 0 },
    await zip([
      {
        name: "p/.codex-plugin/plugin.json",
        text: JSON.stringify({ name: "plugin", description: "Servers" }),
      },
      { name: "p/.mcp.json", text: JSON.stringify({ mcpServers: SERVERS }) },
      { name: "p/bin/server", text: "#!/bin/sh\n", mode: 0o100755 },
    ]),
  );
  await step(installation, { action: "finalize", sources });
}

Deno.test("installed servers get their declared variables and nothing else; a launcher knows only the identity", async () => {
  using installation = new Installation();
  await installed(installation, { NAME: "n", TOKEN: "secret", OTHER: "o" });
  const prepared = await prepare(installation, { capability_sources: sources });
  assertEquals(prepared.environment.skillDirectories, [
    installation.path("capabilities", "skills", "example"),
  ]);
  const [tool, web] = prepared.mcpServers;
  assert(tool?.transport === "stdio" && web?.transport === "http");
  assertEquals([tool.label, tool.origin, tool.required, tool.allowedTools], [
    "tool",
    "environment",
    false,
    null,
  ]);
  assertEquals([tool.command, tool.arguments], [
    "/launcher",
    ["plugins/0", "tool"],
  ]);
  assertEquals(Object.keys(tool.environment).sort(), [
    "NAME",
    "PATH",
    "PYTHONPATH",
  ]);
  assertEquals([web.url, web.bearerToken, web.headers], [
    "https://mcp.example/path",
    "secret",
    { "X-Kind": "test" },
  ]);
});

Deno.test("a server whose variable was never configured fails the preparation, also when the daemon has it", async () => {
  for (const env of [{ NAME: "n" }, { TOKEN: "t" }, { NAME: "n", TOKEN: "" }]) {
    using installation = new Installation();
    await installed(installation, env);
    await assertRejects(
      () => prepare(installation, { capability_sources: sources }),
      InstalledServerError,
    );
  }
});

Deno.test("the launcher finds a server in its sealed package and nowhere else", async () => {
  using installation = new Installation();
  await installed(installation, { NAME: "n", TOKEN: "t" });
  const capabilityRoot = installation.path("capabilities");
  const find = (packageRoot: string, name: string) =>
    installedServerCommand(
      { capabilityRoot, packageRoot, name },
      directoryAccess("linux"),
    );
  const directory = join(capabilityRoot, "plugins", "0");
  assertEquals(await find("plugins/0", "tool"), {
    command: join(directory, "bin", "server"),
    arguments: ["--quiet"],
    workingDirectory: join(directory, "bin"),
  });
  for (
    const [packageRoot, name] of [
      ["plugins/0", "web"],
      ["plugins/0", "absent"],
      ["plugins/1", "tool"],
      ["skills/example", "tool"],
      ["../outside", "tool"],
    ] as const
  ) await assertRejects(() => find(packageRoot, name), InvalidPackage);
  const { success } = await new Deno.Command("cp", {
    args: ["-a", directory, join(capabilityRoot, "plugins", "1")],
  }).output();
  assert(success);
  await assertRejects(() => find("plugins/1", "tool"), InvalidPackage);
  Deno.chmodSync(join(directory, ".mcp.json"), 0o600);
  await assertRejects(() => find("plugins/0", "tool"), InvalidPackage);
});

Deno.test("reading is opened only while the bound workspace is there", async () => {
  using installation = new Installation();
  const binding = bindingOf(installation);
  assertEquals(await binding.openReadOnly(never), {});
  const aborted = await binding.openReadOnly(AbortSignal.abort());
  assert(aborted.error);
  Deno.renameSync(
    installation.workspacePath,
    `${installation.workspacePath}-old`,
  );
  assert((await binding.openReadOnly(never)).error);
});
