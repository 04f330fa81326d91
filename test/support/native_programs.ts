/**
 * Finds the real Harness programs for native tests, and installs them from npm into an ignored
 * folder when they are absent. Only tests use it; it is the one place that may reach a registry.
 */
import { fromFileUrl, join } from "@std/path";

/** Absolute paths of the two native binaries. */
export interface NativePrograms {
  readonly codex: string;
  readonly claude: string;
}

const folder = fromFileUrl(new URL("../../.harness", import.meta.url));

/** The versions that the adapters were measured against; an installation is pinned to them. */
const packages = [
  "@openai/codex@0.171.0",
  "@anthropic-ai/claude-code@2.1.332",
] as const;

let found: Promise<NativePrograms> | undefined;

/**
 * Resolves the native binary of each Harness, installing once when one is absent. Safe when several
 * test files or processes ask at the same time: the installation holds a lock on disk.
 *
 * @throws when npm cannot install or a platform package holds no binary.
 */
export function ensureNativePrograms(): Promise<NativePrograms> {
  found ??= findOrInstall();
  return found;
}

async function findOrInstall(): Promise<NativePrograms> {
  const present = await locate();
  if (present) return present;
  await Deno.mkdir(folder, { recursive: true });
  using lock = await Deno.open(join(folder, "install.lock"), {
    create: true,
    write: true,
  });
  await lock.lock(true); // the kernel releases it when this process ends
  const installedMeanwhile = await locate();
  if (installedMeanwhile) return installedMeanwhile;
  await install();
  const installed = await locate();
  if (!installed) throw new Error("npm installed no native Harness programs");
  return installed;
}

async function install(): Promise<void> {
  const npm = await new Deno.Command("npm", {
    args: ["install", "--prefix", folder, "--no-save", ...packages],
    stdout: "piped",
    stderr: "piped",
  }).output();
  if (!npm.success) {
    throw new Error(
      `npm install failed: ${new TextDecoder().decode(npm.stderr)}`,
    );
  }
}

async function locate(): Promise<NativePrograms | undefined> {
  const platform = { linux: "linux", darwin: "darwin", windows: "win32" }[
    Deno.build.os as string
  ];
  const machine = Deno.build.arch === "aarch64" ? "arm64" : "x64";
  const triple = {
    linux: `${Deno.build.arch}-unknown-linux-musl`,
    darwin: `${Deno.build.arch}-apple-darwin`,
    win32: `${Deno.build.arch}-pc-windows-msvc`,
  }[platform ?? ""];
  if (!platform || !triple) return undefined;
  const suffix = platform === "win32" ? ".exe" : "";
  const modules = join(folder, "node_modules");
  const codex = join(
    modules,
    `@openai/codex-${platform}-${machine}`,
    "vendor",
    triple,
    "bin",
    `codex${suffix}`,
  );
  const claude = join(
    modules,
    `@anthropic-ai/claude-code-${platform}-${machine}`,
    `claude${suffix}`,
  );
  return await isFile(codex) && await isFile(claude)
    ? { codex, claude }
    : undefined;
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
