/**
 * Reads the manifest of a plugin and the MCP servers it declares. The schemas are closed: a member
 * that is not listed might give a package authority that nobody granted.
 */
import * as z from "zod";
import {
  InvalidPackage,
  manifestObject,
  type PackageFile,
} from "./package_files.ts";
import { findSkills, type SkillManifest } from "./skill_manifest.ts";

/** Where a plugin's manifest stands. */
export const PLUGIN_FILE = ".codex-plugin/plugin.json";
const DEFAULT_MCP_FILE = ".mcp.json";
/** The protocol's bounds. */
const MAXIMUM_SKILLS = 50;
const MAXIMUM_SERVERS = 50;
const SERVER_NAME_BYTES = 128;

const packagePath = z.string().refine((path) =>
  path.startsWith("./") &&
  path.slice(2).split("/").every((part) =>
    part !== "" && part !== "." && part !== ".."
  )
);
const skillRoot = z.string().refine((path) =>
  path === "./" || packagePath.safeParse(path.replace(/\/$/, "")).success
);

const manifest = z.strictObject({
  name: z.string().min(1),
  description: z.string().min(1),
  version: z.unknown().optional(),
  skills: z.union([skillRoot, z.array(skillRoot).min(1).max(MAXIMUM_SKILLS)])
    .optional(),
  mcpServers: packagePath.optional(),
  author: z.unknown().optional(),
  homepage: z.unknown().optional(),
  repository: z.unknown().optional(),
  license: z.unknown().optional(),
  keywords: z.unknown().optional(),
  interface: z.unknown().optional(),
});

const variableName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/);
const noNul = (text: string) => !text.includes("\0");
const httpUrl = z.string().refine((text) => {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  return (url.protocol === "http:" || url.protocol === "https:") &&
    url.hostname !== "" && url.username === "" && url.password === "" &&
    url.hash === "";
});
const headers = z.record(
  z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/),
  z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/),
).refine((record) =>
  new Set(Object.keys(record).map((name) => name.toLowerCase())).size ===
    Object.keys(record).length
);

const httpServer = z.strictObject({
  type: z.literal("http"),
  url: httpUrl,
  bearer_token_env_var: variableName.optional(),
  http_headers: headers.optional(),
}).refine((server) =>
  server.bearer_token_env_var === undefined ||
  !Object.keys(server.http_headers ?? {}).some((name) =>
    name.toLowerCase() === "authorization"
  )
);
const stdioServer = z.strictObject({
  type: z.literal("stdio").optional(),
  command: z.string().refine((text) => text.trim() !== "" && noNul(text)),
  args: z.array(z.string().refine(noNul)).optional(),
  env_vars: z.array(variableName).optional(),
  cwd: z.string().refine((path) =>
    noNul(path) && (path.startsWith("/") || !path.split("/").includes(".."))
  ).optional(),
});
const serverFile = z.strictObject({
  mcpServers: z.record(
    z.string().refine((name) =>
      name !== "" && !/[\0\r\n]/.test(name) &&
      new TextEncoder().encode(name).length <= SERVER_NAME_BYTES
    ),
    z.union([httpServer, stdioServer]),
  ).refine((servers) => Object.keys(servers).length <= MAXIMUM_SERVERS),
});

/** One MCP server of a plugin, as its file declares it. Values are literal, never expanded. */
export type PluginServer =
  & { readonly name: string }
  & (z.infer<typeof httpServer> | z.infer<typeof stdioServer>);

/** What a plugin declares. */
export interface Plugin {
  readonly name: string;
  readonly description: string;
  readonly skills: readonly {
    readonly directory: string;
    readonly manifest: SkillManifest;
  }[];
  /** Sorted by name. */
  readonly servers: readonly PluginServer[];
}

/**
 * The plugin that a package's files make.
 *
 * @throws {InvalidPackage} when they make none.
 */
export function readPlugin(files: readonly PackageFile[]): Plugin {
  const file = files.find((candidate) => candidate.path === PLUGIN_FILE);
  if (!file) throw new InvalidPackage("a plugin has no manifest");
  const parsed = manifest.safeParse(manifestObject(file));
  if (!parsed.success) throw new InvalidPackage("a plugin's manifest is wrong");
  const { name, description } = parsed.data;
  const roots = [parsed.data.skills ?? []].flat()
    .map((root) => root.slice(2).replace(/\/$/, ""));
  const skills = roots.length === 0 ? [] : findSkills(files, roots);
  const names = new Set(skills.map((skill) => skill.manifest.name));
  const servers = readServers(files, parsed.data.mcpServers);
  if (
    names.size !== skills.length || skills.length > MAXIMUM_SKILLS ||
    (roots.length > 0 && skills.length === 0) ||
    (roots.length === 0 && servers.length === 0)
  ) throw new InvalidPackage("a plugin's Skills are none or ambiguous");
  return { name, description, skills, servers };
}

function readServers(
  files: readonly PackageFile[],
  declared: string | undefined,
): readonly PluginServer[] {
  const path = declared?.slice(2) ?? DEFAULT_MCP_FILE;
  const file = files.find((candidate) => candidate.path === path);
  if (!file) {
    if (declared === undefined) return [];
    throw new InvalidPackage("a plugin's server file is missing");
  }
  const parsed = serverFile.safeParse(manifestObject(file));
  if (!parsed.success) {
    throw new InvalidPackage("a plugin's server file is wrong");
  }
  return Object.entries(parsed.data.mcpServers)
    .map(([name, server]) => ({ name, ...server }))
    .sort((left, right) => left.name < right.name ? -1 : 1);
}
