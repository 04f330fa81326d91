import { assert, assertEquals } from "@std/assert";
import { exportOutputs } from "../../src/workspace/export_outputs.ts";
import { listWorkspaceDirectory } from "../../src/workspace/list_directory.ts";
import {
  logicalComponents,
  type PathRules,
  relativeComponents,
} from "../../src/workspace/path.ts";
import { publishFile } from "../../src/workspace/publish_file.ts";
import { readWorkspaceFile } from "../../src/workspace/read_file.ts";
import type { DirectoryAccess } from "../../src/workspace/root.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { ACCESSES, bytes, Fixture, makeFifo, OUTSIDE } from "./support.ts";

/** Spellings that try to leave the workspace, to name a device or to mean something else. */
function corpus(fixture: Fixture): string[] {
  const up = [
    "..",
    "...",
    "....",
    "%2e%2e",
    "..%2f",
    "..;",
    "․․",
    "．．",
    "..\u0000",
  ];
  const slashes = ["/", "//", "\\", "/./", "∕", "／", "%2f", "%5c"];
  const targets = ["outside/secret.txt", "etc/passwd", "secret.txt"];
  const traversals = up.flatMap((dots) =>
    slashes.flatMap((slash) =>
      targets.map((target) => `${dots}${slash}${target}`)
    )
  );
  const absolute = [
    fixture.secret,
    fixture.workspace,
    "/etc/passwd",
    "//etc/passwd",
    "/proc/self/environ",
    "/dev/stdin",
    "/dev/zero",
    "file:///etc/passwd",
    "~/secret",
    "~root/x",
    "$HOME/x",
  ];
  const links = [
    "link",
    "linked",
    "linked/secret.txt",
    "up/secret.txt",
    "up/outside/secret.txt",
    "loop",
    "loop/loop",
    "self/self/self",
    "proc/self/environ",
    "absolute",
    "folder/../link",
    "folder/link",
    "folder/linked/secret.txt",
  ];
  const specials = ["fifo", "folder/fifo", "fifo/x", "socket", "device"];
  const encodings = [
    "\ud800",
    "a\udfff/b",
    "a\u0000.txt",
    "a\nb",
    "a\rb",
    "\u202e/../x",
    "a/\u0000/b",
    "é/../x",
  ];
  const windows = [
    "C:\\x",
    "C:/x",
    "c:x",
    "\\\\host\\share",
    "//host/share",
    "\\\\?\\C:\\x",
    "\\\\.\\pipe\\x",
    "a:stream",
    "a::$DATA",
    "CON",
    "nul",
    "aux.txt",
    "COM1",
    "lpt1.x",
    "x.",
    "x ",
    "a/b./c",
    "a/con/b",
  ];
  return [
    ...traversals,
    ...absolute,
    ...links,
    ...specials,
    ...encodings,
    ...windows,
    "x".repeat(256),
    "x/".repeat(2048) + "y",
    "x".repeat(4097),
    "",
    ".",
    "./a",
    "a/.",
    "a//b",
    "a/",
  ];
}

function trap(fixture: Fixture): void {
  fixture.file("folder/inner", "inside");
  fixture.file("outputs/inner", "inside");
  const link = (target: string, path: string) =>
    Deno.symlinkSync(target, fixture.path(path));
  link(fixture.secret, "link");
  link(fixture.outside, "linked");
  link("..", "up");
  link("loop", "loop");
  link(".", "self");
  link("/proc", "proc");
  link("/", "absolute");
  link("../../outside/secret.txt", "folder/link");
  link("../../outside", "folder/linked");
  link(fixture.outside, "outputs/linked");
  link(fixture.secret, "outputs/link");
  makeFifo(fixture.path("fifo"));
  makeFifo(fixture.path("folder/fifo"));
}

async function attack(access: DirectoryAccess): Promise<number> {
  using fixture = new Fixture();
  trap(fixture);
  const root = fixture.root(access);
  const inputs = corpus(fixture);
  for (const [index, path] of inputs.entries()) {
    const read = await readWorkspaceFile(root, path, 1024);
    if (read.outcome === "completed") {
      assert(!new TextDecoder().decode(read.data).includes(OUTSIDE), path);
    }
    const list = await listWorkspaceDirectory(root, path, 1024);
    if (list.outcome === "completed") {
      assert(!list.entries.some((entry) => entry.name === "secret.txt"), path);
    }
    for (const mode of ["create", "replace"] as const) {
      const components = mode === "create"
        ? relativeComponents(path, root.rules)
        : logicalComponents(`/workspace/${path}`, root.rules);
      if (!components || components.length === 0) continue;
      await publishFile(root, {
        components,
        chunks: [bytes("written")],
        mode,
        clock: systemClock,
        temporaryName: `.attack-${mode}-${index}`,
      });
    }
  }
  let archive = "";
  for await (const piece of exportOutputs(root)) {
    archive += new TextDecoder("latin1").decode(piece);
  }
  assert(!archive.includes(OUTSIDE));
  assertEquals(Deno.readTextFileSync(fixture.secret), OUTSIDE);
  assertEquals([...Deno.readDirSync(fixture.outside)].length, 1);
  assertEquals(
    [...Deno.readDirSync(fixture.folder)].map((entry) => entry.name).sort(),
    ["outside", "workspace"],
  );
  assertEquals(fixture.tree().filter((name) => name.includes(".attack-")), []);
  return inputs.length;
}

for (const [how, access] of ACCESSES) {
  Deno.test(`no path of the attack corpus leads outside (${how})`, async () => {
    const inputs = await attack(access);
    assert(inputs >= 200, `${inputs} inputs`);
    // Once more with the names of another system, which must refuse more and reach nothing.
    const rules: PathRules = "windows";
    await attack({ ...access, rules });
  });
}

Deno.test("Windows spellings are refused before any file system call", () => {
  using fixture = new Fixture();
  const spelled = corpus(fixture).filter((path) =>
    /[:\\]|^(con|nul|aux|com1|lpt1)(\.|$)|[. ]$|[. ]\//i.test(path)
  );
  assert(spelled.length > 20);
  for (const path of spelled) {
    assertEquals(relativeComponents(path, "windows"), undefined, path);
  }
});
