import { assertEquals, assertThrows } from "@std/assert";
import { InvalidPackage } from "../../src/environment/package_files.ts";
import { readPlugin } from "../../src/environment/plugin_manifest.ts";
import { skillText } from "./support.ts";

function plugin(files: Readonly<Record<string, unknown>>) {
  return readPlugin(
    Object.entries(files).map(([path, content]) => ({
      path,
      data: new TextEncoder().encode(
        typeof content === "string" ? content : JSON.stringify(content),
      ),
      executable: false,
    })),
  );
}

const MANIFEST = ".codex-plugin/plugin.json";
const base = { name: "p", description: "d" };
const servers = (server: unknown) => ({
  [MANIFEST]: base,
  ".mcp.json": { mcpServers: { one: server } },
});

Deno.test("a plugin gives the Skills of its roots and its servers sorted by name", () => {
  const read = plugin({
    [MANIFEST]: {
      ...base,
      version: "1",
      skills: ["./skills"],
      keywords: ["k"],
    },
    "skills/a/SKILL.md": skillText("a"),
    "elsewhere/SKILL.md": "not a manifest, and not below a root",
    ".mcp.json": {
      mcpServers: {
        two: {
          type: "http",
          url: "https://x.example/mcp",
          http_headers: { "X-A": "1" },
        },
        one: { command: "run", args: ["--x"], env_vars: ["TOKEN"], cwd: "sub" },
      },
    },
  });
  assertEquals(read.skills, [
    { directory: "skills/a", manifest: { name: "a", description: "Example" } },
  ]);
  assertEquals(read.servers.map((server) => server.name), ["one", "two"]);
});

const refused:
  readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
    ["no manifest", { "skills/a/SKILL.md": skillText("a") }],
    ["neither Skills nor servers", { [MANIFEST]: base }],
    ["hooks", {
      ...servers({ command: "x" }),
      [MANIFEST]: { ...base, hooks: "./h" },
    }],
    ["no description", {
      ...servers({ command: "x" }),
      [MANIFEST]: { name: "p" },
    }],
    ["a root without Skills", { [MANIFEST]: { ...base, skills: "./skills" } }],
    ["a root that leaves", { [MANIFEST]: { ...base, skills: "./../x" } }],
    ["a root that is not relative", { [MANIFEST]: { ...base, skills: "/x" } }],
    ["51 roots", { [MANIFEST]: { ...base, skills: Array(51).fill("./s") } }],
    ["two Skills of one name", {
      [MANIFEST]: { ...base, skills: "./s" },
      "s/a/SKILL.md": skillText("a"),
      "s/b/SKILL.md": skillText("a"),
    }],
    ["a server file that is missing", {
      [MANIFEST]: { ...base, mcpServers: "./x.json" },
    }],
    [
      "an unknown member of a server",
      servers({ command: "x", env: { A: "b" } }),
    ],
    ["another type", servers({ type: "sse", url: "https://x.example" })],
    [
      "http with a command",
      servers({ type: "http", url: "https://x.example", command: "x" }),
    ],
    [
      "http with user info",
      servers({ type: "http", url: "https://u:p@x.example" }),
    ],
    [
      "http with a fragment",
      servers({ type: "http", url: "https://x.example/#f" }),
    ],
    [
      "two headers of one name",
      servers({
        type: "http",
        url: "https://x.example",
        http_headers: { "X-A": "1", "x-a": "2" },
      }),
    ],
    [
      "a bearer and an Authorization header",
      servers({
        type: "http",
        url: "https://x.example",
        bearer_token_env_var: "T",
        http_headers: { authorization: "x" },
      }),
    ],
    ["a blank command", servers({ command: "  " })],
    ["a NUL in an argument", servers({ command: "x", args: ["a\0b"] })],
    [
      "an ill-formed variable name",
      servers({ command: "x", env_vars: ["A-B"] }),
    ],
    ["a working directory that leaves", servers({ command: "x", cwd: "../x" })],
    ["a server name of 129 bytes", {
      [MANIFEST]: base,
      ".mcp.json": { mcpServers: { ["x".repeat(129)]: { command: "x" } } },
    }],
    ["51 servers", {
      [MANIFEST]: base,
      ".mcp.json": {
        mcpServers: Object.fromEntries(
          Array.from({ length: 51 }, (_, n) => [`s${n}`, { command: "x" }]),
        ),
      },
    }],
    ["a server file with more than servers", {
      [MANIFEST]: base,
      ".mcp.json": { mcpServers: { a: { command: "x" } }, other: 1 },
    }],
    ["a manifest that is a list", { [MANIFEST]: [], ".mcp.json": {} }],
    ["a manifest with trailing data", {
      [MANIFEST]: '{"name":"p","description":"d"} x',
    }],
  ];

Deno.test("a plugin that asks for more than Skills and servers is refused", async (t) => {
  for (const [what, files] of refused) {
    await t.step(what, () => {
      assertThrows(() => plugin(files), InvalidPackage);
    });
  }
});
