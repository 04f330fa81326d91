/**
 * Workspace paths as Core spells them. A path is taken as it is or refused; nothing is normalised,
 * folded or resolved here.
 */

/** The longest path, in UTF-8 bytes: the protocol's bound for every workspace path. */
export const PATH_BYTES = 4096;
/** The longest component, in UTF-8 bytes: the bound of the file systems we run on. */
export const COMPONENT_BYTES = 255;
/** The logical name of the bound directory. */
export const WORKSPACE_ALIAS = "/workspace";

/** Which names the host's file system can hold unchanged. */
export type PathRules = "posix" | "windows";

const encoder = new TextEncoder();
const windowsDevice =
  /^(?:con|prn|aux|nul|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3]|conin\$|conout\$)(?:\.|$)/i;
// deno-lint-ignore no-control-regex -- control characters are what Windows refuses
const windowsForbidden = /[\u0000-\u001f<>:"|?*]/;

/** Whether `name` can be one component of a path on this host, without any change of meaning. */
export function isComponent(name: string, rules: PathRules): boolean {
  if (name === "" || name === "." || name === ".." || !name.isWellFormed()) {
    return false;
  }
  if (/[\/\\\0\r\n]/.test(name)) return false;
  if (encoder.encode(name).length > COMPONENT_BYTES) return false;
  if (rules === "posix") return true;
  return !windowsForbidden.test(name) && !windowsDevice.test(name) &&
    !name.endsWith(" ") && !name.endsWith(".");
}

/**
 * The components of a workspace-relative path, or `undefined` when it is not one. The empty path is
 * the root itself and has no components; callers that need a file refuse an empty list.
 */
export function relativeComponents(
  path: string,
  rules: PathRules,
): readonly string[] | undefined {
  if (path === "") return [];
  if (encoder.encode(path).length > PATH_BYTES) return undefined;
  const components = path.split("/");
  return components.every((name) => isComponent(name, rules))
    ? components
    : undefined;
}

/** The components of a logical path below `/workspace`; the alias itself has none. */
export function logicalComponents(
  path: string,
  rules: PathRules,
): readonly string[] | undefined {
  if (path === WORKSPACE_ALIAS) return [];
  if (!path.startsWith(`${WORKSPACE_ALIAS}/`)) return undefined;
  if (encoder.encode(path).length > PATH_BYTES) return undefined;
  const rest = path.slice(WORKSPACE_ALIAS.length + 1);
  return rest === "" ? undefined : relativeComponents(rest, rules);
}
