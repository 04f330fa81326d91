/**
 * Reads the module graph of the program and fails on an arrow that the architecture does not allow
 * (`docs/architecture.md`). The same check runs on a graph with a forbidden import added, so that
 * a blind checker is noticed.
 */
import { assert, assertEquals } from "@std/assert";
import { fromFileUrl, join, relative } from "@std/path";

const root = fromFileUrl(new URL("..", import.meta.url));

/** What each part may import besides itself. `npm` lists the outside packages it may use. */
const allowed: Readonly<
  Record<string, { parts: readonly string[]; npm?: readonly string[] }>
> = {
  "main.ts": { parts: ["src/cli"] },
  "src/cli": {
    parts: [
      "adapters/*",
      "src/environment",
      "src/harness",
      "src/loopback",
      "src/platform",
      "src/protocol",
      "src/runtime",
      "src/service",
      "src/transfer",
      "src/transport",
      "src/workspace",
    ],
  },
  "src/service": { parts: ["src/platform"] },
  "src/transport": { parts: ["src/platform", "src/protocol"] },
  "src/runtime": {
    parts: [
      "src/environment",
      "src/harness",
      "src/platform",
      "src/protocol",
      "src/transfer",
      "src/workspace",
    ],
  },
  "src/environment": {
    parts: [
      "src/harness",
      "src/platform",
      "src/protocol",
      "src/transfer",
      "src/workspace",
    ],
  },
  "src/workspace": { parts: ["src/platform", "src/protocol", "src/transfer"] },
  "src/transfer": { parts: ["src/platform", "src/protocol"] },
  "src/harness": { parts: ["src/platform", "src/protocol"] },
  "src/loopback": { parts: ["src/platform", "src/protocol"] },
  "src/protocol": { parts: [], npm: ["zod"] },
  "src/platform": { parts: [] },
  "adapters/*": { parts: ["src/harness", "src/platform", "src/protocol"] },
};

/** A module of the project and the project modules and packages it imports. */
interface Module {
  readonly path: string;
  readonly imports: readonly string[];
  readonly packages: readonly string[];
}

interface DenoInfo {
  readonly modules: readonly {
    readonly specifier: string;
    readonly dependencies?: readonly {
      readonly specifier: string;
      readonly code?: { readonly specifier: string };
      readonly type?: { readonly specifier: string };
    }[];
  }[];
}

async function graphOf(entry: string): Promise<Module[]> {
  const output = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", entry],
    cwd: root,
    env: { NO_COLOR: "1" },
    stderr: "null",
  }).output();
  assert(output.success, `deno info ${entry} failed`);
  const info: DenoInfo = JSON.parse(new TextDecoder().decode(output.stdout));
  const modules: Module[] = [];
  for (const module of info.modules) {
    if (!module.specifier.startsWith("file:")) continue;
    const path = relative(root, fromFileUrl(module.specifier));
    if (/^(\.\.|node_modules|types)\b/.test(path)) continue;
    const targets = (module.dependencies ?? []).flatMap((dependency) => [
      dependency.code?.specifier ?? dependency.specifier,
      ...(dependency.type ? [dependency.type.specifier] : []),
    ]);
    modules.push({
      path: path.replaceAll("\\", "/"),
      imports: targets.filter((target) => target.startsWith("file:"))
        .map((target) =>
          relative(root, fromFileUrl(target)).replaceAll("\\", "/")
        )
        .filter((target) => !target.startsWith("node_modules")),
      packages: (module.dependencies ?? []).map((d) => d.specifier)
        .filter((specifier) => !specifier.startsWith(".")),
    });
  }
  return modules;
}

/** The part a file belongs to: its first two folders, or the file itself at the top. */
function partOf(path: string): string {
  return path.includes("/") ? path.split("/").slice(0, 2).join("/") : path;
}

function ruleOf(part: string) {
  return allowed[part] ??
    (part.startsWith("adapters/") ? allowed["adapters/*"] : undefined);
}

function mayImport(
  rule: { parts: readonly string[] },
  part: string,
  target: string,
): boolean {
  return part === target || rule.parts.includes(target) ||
    (target.startsWith("adapters/") && rule.parts.includes("adapters/*"));
}

/** One sentence per forbidden arrow. */
function forbiddenArrows(modules: readonly Module[]): string[] {
  const found: string[] = [];
  for (const module of modules) {
    const part = partOf(module.path);
    const rule = ruleOf(part);
    if (!rule) {
      found.push(`${module.path} is in no known part`);
      continue;
    }
    for (const target of module.imports) {
      if (!mayImport(rule, part, partOf(target))) {
        found.push(`${module.path} must not import ${target}`);
      }
    }
    if (!rule.npm) continue;
    for (const name of module.packages) {
      if (!rule.npm.includes(name)) {
        found.push(`${module.path} must not import ${name}`);
      }
    }
  }
  return found;
}

/** Every source file, so that a file no command imports is checked too. */
async function sourceFiles(folder: string): Promise<string[]> {
  const files: string[] = [];
  for await (const entry of Deno.readDir(join(root, folder))) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory) files.push(...await sourceFiles(path));
    else if (entry.name.endsWith(".ts")) files.push(path);
  }
  return files;
}

Deno.test("every import follows the arrows of the architecture", async () => {
  assertEquals(forbiddenArrows(await graphOf("main.ts")), []);
});

Deno.test("a file that main.ts does not reach follows the arrows too", async () => {
  const reached = new Set((await graphOf("main.ts")).map((m) => m.path));
  const files = [
    ...await sourceFiles("src"),
    ...await sourceFiles("adapters"),
  ].filter((path) => !reached.has(path));
  const found: string[] = [];
  for (const file of files) {
    const graph = await graphOf(file);
    found.push(...forbiddenArrows(graph.filter((m) => m.path === file)));
  }
  assertEquals(found, []);
});

Deno.test("an import from src/protocol to src/runtime is seen as forbidden", async () => {
  const graph = await graphOf("main.ts");
  const planted = graph.map((module) =>
    module.path === "src/protocol/envelope.ts"
      ? { ...module, imports: [...module.imports, "src/runtime/router.ts"] }
      : module
  );
  assertEquals(forbiddenArrows(planted), [
    "src/protocol/envelope.ts must not import src/runtime/router.ts",
  ]);
});

Deno.test("no source file is longer than 300 lines", async () => {
  const long: string[] = [];
  for (
    const file of [
      ...await sourceFiles("src"),
      ...await sourceFiles("adapters"),
    ]
  ) {
    const lines =
      (await Deno.readTextFile(join(root, file))).split("\n").length;
    if (lines > 301) long.push(`${file}: ${lines - 1}`);
  }
  assertEquals(long, []);
});
