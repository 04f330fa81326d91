/** Reads what a provider was offered and what lies on disk. */
import { join } from "@std/path";
import type { ResponsesRequest } from "../../src/loopback/responses_provider.ts";

/** Names of the tools in a request, namespaces and code-mode lists included. */
export function offeredTools(request: ResponsesRequest | undefined): string[] {
  const flat = (tools: unknown): string[] =>
    (Array.isArray(tools) ? tools : []).flatMap((tool) =>
      Array.isArray(tool.tools)
        ? flat(tool.tools).map((inner) => `${tool.name}.${inner}`)
        : [String(tool.name ?? tool.type)]
    );
  const input = request?.body?.input ?? [];
  return [
    ...flat(request?.body?.tools),
    ...input.filter(({ type }) => type === "additional_tools")
      .flatMap(({ tools }) => flat(tools)),
  ];
}

/** Files below `root` that hold `text`. */
export async function findBelow(root: string, text: string): Promise<string[]> {
  const needle = new TextEncoder().encode(text);
  const found: string[] = [];
  for await (const path of filesBelow(root)) {
    const bytes = await Deno.readFile(path).catch(() => new Uint8Array());
    if (includesBytes(bytes, needle)) found.push(path);
  }
  return found;
}

/** All regular files below `root`. */
export async function* filesBelow(root: string): AsyncGenerator<string> {
  for await (const entry of Deno.readDir(root)) {
    const path = join(root, entry.name);
    if (entry.isDirectory) yield* filesBelow(path);
    else if (entry.isFile) yield path;
  }
}

function includesBytes(bytes: Uint8Array, needle: Uint8Array): boolean {
  const first = needle[0] ?? 0;
  for (
    let at = bytes.indexOf(first);
    at >= 0;
    at = bytes.indexOf(first, at + 1)
  ) {
    if (needle.every((byte, index) => bytes[at + index] === byte)) return true;
  }
  return false;
}
