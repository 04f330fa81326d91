/**
 * Builds a release: one bundle, a program per target, archives, digests, signature, parts list and
 * provenance. Where the base runtime of a target cannot be downloaded it says so in one line and
 * checks everything else with what it has.
 *
 *   deno run -A .ci/build.ts [--target TRIPLE]... [--key FILE] [--base-url URL]
 *
 * Without --target it builds for this machine. Without --key it signs with a key made for this run,
 * which nothing accepts.
 */
import { basename, fromFileUrl, join } from "@std/path";
import { BUILD_VERSION, PERMISSIONS, PROGRAM } from "../src/cli/build.ts";
import { digest, partsList, provenance } from "./release_documents.ts";

const root = fromFileUrl(new URL("..", import.meta.url));
const dist = join(root, "dist");

/** The five targets of a release. */
const TARGETS = [
  "x86_64-unknown-linux-gnu",
  "aarch64-unknown-linux-gnu",
  "x86_64-apple-darwin",
  "aarch64-apple-darwin",
  "x86_64-pc-windows-msvc",
];

interface Options {
  readonly targets: readonly string[];
  readonly key: string | undefined;
  readonly baseUrl: string;
}

function parse(words: readonly string[]): Options {
  const targets: string[] = [];
  let key: string | undefined;
  let baseUrl = "";
  for (let index = 0; index < words.length; index += 2) {
    const value = words[index + 1];
    if (value === undefined) throw new Error(`${words[index]} needs a value`);
    switch (words[index]) {
      case "--target":
        if (!TARGETS.includes(value)) throw new Error("unknown target");
        targets.push(value);
        break;
      case "--key":
        key = value;
        break;
      case "--base-url":
        baseUrl = value;
        break;
      default:
        throw new Error("unknown option");
    }
  }
  return {
    targets: targets.length > 0 ? targets : [Deno.build.target],
    key,
    baseUrl,
  };
}

async function run(
  program: string,
  words: readonly string[],
  options: { readonly tolerate?: boolean; readonly cwd?: string } = {},
): Promise<{ readonly code: number; readonly text: string }> {
  const output = await new Deno.Command(program, {
    args: [...words],
    cwd: options.cwd ?? root,
    env: { NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" },
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  const text = decoder.decode(output.stdout) + decoder.decode(output.stderr);
  if (output.code !== 0 && !options.tolerate) {
    throw new Error(
      `${program} ${words[0]} ended with ${output.code}: ${text}`,
    );
  }
  return { code: output.code, text };
}

/** One file without any import, with the release's own key and address in it. */
async function bundle(publicKey: string, baseUrl: string): Promise<string> {
  const path = join(dist, `${PROGRAM}.js`);
  await run(Deno.execPath(), [
    "bundle",
    "--platform",
    "deno",
    "--output",
    path,
    "main.ts",
  ]);
  let text = await Deno.readTextFile(path);
  for (
    const [name, value] of [
      ["RELEASE_PUBLIC_KEY", publicKey],
      ["RELEASE_BASE_URL", baseUrl],
    ] as const
  ) {
    const empty = new RegExp(`\\b${name} = ""`, "g");
    if (text.match(empty)?.length !== 1) {
      throw new Error(`the bundle does not hold ${name} exactly once`);
    }
    text = text.replace(empty, () => `${name} = ${JSON.stringify(value)}`);
  }
  await Deno.writeTextFile(path, text);
  return path;
}

/** Runs the bundle far from its sources: what it does must not depend on them. */
async function checkBundle(path: string): Promise<void> {
  const away = await Deno.makeTempDir();
  try {
    const runIt = (...words: string[]) =>
      run(
        Deno.execPath(),
        ["run", "--no-config", "--no-prompt", ...PERMISSIONS, path, ...words],
        { cwd: away },
      );
    const version = await runIt("version");
    if (!version.text.startsWith(`${PROGRAM} ${BUILD_VERSION} `)) {
      throw new Error(`the bundle says: ${version.text}`);
    }
    await runIt("selftest");
    await runIt("help", "run");
  } finally {
    await Deno.remove(away, { recursive: true });
  }
}

/** Compiles for one target; `false` when its base runtime cannot be downloaded. */
async function compile(bundled: string, target: string): Promise<boolean> {
  const windows = target.includes("windows");
  const directory = join(dist, target);
  await Deno.mkdir(directory, { recursive: true });
  const program = join(directory, windows ? `${PROGRAM}.exe` : PROGRAM);
  const { code, text } = await run(Deno.execPath(), [
    "compile",
    "--no-check",
    "--no-config",
    "--no-prompt",
    ...PERMISSIONS,
    "--target",
    target,
    "--output",
    program,
    bundled,
  ], { tolerate: true });
  if (code === 0) {
    if (target === Deno.build.target) {
      await run(program, ["version"]);
      await run(program, ["selftest"]);
    }
    return true;
  }
  if (!/error sending request|dns error|Connect|404/.test(text)) {
    throw new Error(`compile for ${target} failed: ${text}`);
  }
  await Deno.remove(directory, { recursive: true });
  return false;
}

/** The archive of one target, the same bytes for the same content. */
async function archive(target: string, file: string): Promise<string> {
  const name = `${PROGRAM}-${BUILD_VERSION}-${target}.tar.gz`;
  await run("tar", [
    "--sort=name",
    "--mtime=@0",
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    "-czf",
    join(dist, name),
    "-C",
    join(dist, ...(file.includes(target) ? [target] : [])),
    basename(file),
  ]);
  return name;
}

/** A key pair: the given private key, or one for this run alone. */
async function keys(
  given: string | undefined,
): Promise<{ readonly path: string; readonly publicKey: string }> {
  const path = given ?? join(dist, "throwaway.key");
  if (given === undefined) {
    await run("openssl", [
      "ecparam",
      "-name",
      "prime256v1",
      "-genkey",
      "-noout",
      "-out",
      path,
    ]);
  }
  const published = join(dist, "release-key.pem");
  await run("openssl", ["ec", "-in", path, "-pubout", "-out", published]);
  return { path, publicKey: (await Deno.readTextFile(published)).trim() };
}

async function installer(publicKey: string, baseUrl: string): Promise<void> {
  for (
    const [name, key, url] of [
      ["install.sh", "release_public_key=''", "release_base_url=''"],
      ["install.ps1", "$ReleasePublicKey = ''", "$ReleaseBaseUrl = ''"],
    ] as const
  ) {
    const text = await Deno.readTextFile(join(root, name));
    if (!text.includes(key) || !text.includes(url)) {
      throw new Error(`${name} has no place for the release key`);
    }
    await Deno.writeTextFile(
      join(dist, name),
      text.replace(key, () => key.replace("''", `'${publicKey}'`))
        .replace(url, () => url.replace("''", `'${baseUrl}'`)),
    );
  }
}

async function sign(key: string, names: readonly string[]): Promise<void> {
  const sums = join(dist, "SHA256SUMS");
  const lines = await Promise.all(
    names.map(async (name) => `${await digest(join(dist, name))}  ${name}\n`),
  );
  await Deno.writeTextFile(sums, lines.join(""));
  await run("openssl", [
    "dgst",
    "-sha256",
    "-sign",
    key,
    "-out",
    `${sums}.sig`,
    sums,
  ]);
  await run("openssl", [
    "dgst",
    "-sha256",
    "-verify",
    join(dist, "release-key.pem"),
    "-signature",
    `${sums}.sig`,
    sums,
  ]);
}

const options = parse(Deno.args);
await Deno.remove(dist, { recursive: true }).catch((error) => {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
});
await Deno.mkdir(dist);
const { path: key, publicKey } = await keys(options.key);
const bundled = await bundle(publicKey, options.baseUrl);
await checkBundle(bundled);
const names: string[] = [];
const missing: string[] = [];
for (const target of options.targets) {
  if (await compile(bundled, target)) {
    const file = target.includes("windows") ? `${PROGRAM}.exe` : PROGRAM;
    names.push(await archive(target, join(dist, target, file)));
  } else missing.push(target);
}
if (names.length === 0) names.push(await archive("bundle", bundled));
await Deno.writeTextFile(join(dist, "parts.cdx.json"), await partsList());
await Deno.writeTextFile(
  join(dist, "provenance.json"),
  await provenance(
    dist,
    names,
    (await run("git", ["rev-parse", "HEAD"])).text.trim(),
  ),
);
await installer(publicKey, options.baseUrl);
await Deno.writeTextFile(join(dist, "latest"), `${BUILD_VERSION}\n`);
await sign(key, [...names, "parts.cdx.json", "provenance.json"]);
if (options.key === undefined) await Deno.remove(key);
const size = (await Deno.stat(bundled)).size;
const built = options.targets.length - missing.length;
const report = missing.length === 0
  ? `built ${built} targets`
  : `base runtime not downloadable for ${
    missing.join(", ")
  }: built ${built} targets, checked the bundle (version, selftest, help), archive, digests, signature, parts list and provenance instead`;
// deno-lint-ignore no-console -- the line is what the task is run for
console.log(`${report}; bundle ${(size / 1e6).toFixed(1)} MB`);
