/**
 * The native program behind the script that npm installs. Started directly it needs no interpreter,
 * and no wrapper process can die without it.
 */
import { dirname, join } from "@std/path";

const TRIPLES: Readonly<Record<string, readonly [string, string]>> = {
  "linux x86_64": ["linux-x64", "x86_64-unknown-linux-musl"],
  "linux aarch64": ["linux-arm64", "aarch64-unknown-linux-musl"],
  "darwin x86_64": ["darwin-x64", "x86_64-apple-darwin"],
  "darwin aarch64": ["darwin-arm64", "aarch64-apple-darwin"],
  "windows x86_64": ["win32-x64", "x86_64-pc-windows-msvc"],
  "windows aarch64": ["win32-arm64", "aarch64-pc-windows-msvc"],
};

/**
 * The native program that belongs to `script`, a `codex.js` or a link to it; `undefined` when it is
 * not there or `script` is no such script.
 */
export async function nativeBinary(
  script: string,
  operatingSystem: string,
  architecture: string,
): Promise<string | undefined> {
  const target = TRIPLES[`${operatingSystem} ${architecture}`];
  const real = await Deno.realPath(script).catch(() => undefined); // gone: nothing behind it
  if (!target || !real || !/[\\/]bin[\\/]codex\.js$/.test(real)) {
    return undefined;
  }
  const [platform, triple] = target;
  const root = dirname(dirname(real));
  const name = operatingSystem === "windows" ? "codex.exe" : "codex";
  const inside = ["vendor", triple, "bin", name];
  const candidates = [
    join(root, "node_modules", "@openai", `codex-${platform}`, ...inside),
    join(dirname(root), `codex-${platform}`, ...inside),
    join(root, ...inside),
  ];
  for (const candidate of candidates) {
    const isFile = await Deno.stat(candidate).then((status) => status.isFile)
      .catch(() => false); // absent: the next place
    if (isFile) return candidate;
  }
  return undefined;
}
