// Owns the initializations of an Environment that need no body: variables, packages, a command.
import * as z from "zod";
import {
  MAX_INITIALIZATION_PACKAGES,
  MAX_INITIALIZATION_VARIABLES,
} from "./limits.ts";
import { isWorkspacePathOrRoot } from "./paths.ts";
import { hasLineBreakOrNul, isWellFormed } from "./text.ts";
import {
  isJsonObject,
  list,
  omitted,
  pointer,
  text,
  type Wire,
  wireObject,
} from "./wire_object.ts";

/** Not `z.record`, which drops a member called `__proto__`: a variable may have any name. */
const variables = z.custom<Record<string, string>>((value) =>
  isJsonObject(value) &&
  Object.values(value).every((variable) => typeof variable === "string")
);

/** Schema of an initialization. */
export const initializationWire = wireObject({
  action: text,
  env: pointer(variables),
  packages: pointer(list(z.string())),
  command: omitted(z.string()),
  cwd: omitted(z.string()),
  network: omitted(z.string()),
});
type Members = Wire<typeof initializationWire>;

/** One initialization; members of the other actions are absent. */
export type Initialization =
  | {
    readonly action: "configure";
    readonly env?: Readonly<Record<string, string>>;
  }
  | {
    readonly action: "npm" | "python";
    readonly packages: readonly string[];
  }
  | {
    readonly action: "setup";
    readonly command: string;
    /** A logical path: `/workspace` or below it. */
    readonly cwd?: string;
  };

/**
 * Whether the members are those of the action and keep its rules. A network policy is refused
 * unless it is `enabled`: nothing here would enforce another one.
 */
export function isInitialization(
  members: Members,
): members is Members & Initialization {
  const { action, env, packages, command, cwd, network } = members;
  if (network !== undefined && network !== "enabled") return false;
  switch (action) {
    case "configure":
      return packages === undefined && command === undefined &&
        cwd === undefined && areVariables(env ?? {});
    case "npm":
    case "python":
      return env === undefined && command === undefined && cwd === undefined &&
        arePackages(packages ?? []);
    case "setup":
      return env === undefined && packages === undefined &&
        command !== undefined && isWellFormed(command) &&
        !command.includes("\0") &&
        (cwd === undefined || isWorkspacePathOrRoot(cwd));
    default:
      return false;
  }
}

function areVariables(env: Readonly<Record<string, string>>): boolean {
  const entries = Object.entries(env);
  return entries.length <= MAX_INITIALIZATION_VARIABLES &&
    entries.every(([name, value]) =>
      name !== "" && isWellFormed(name) && !name.includes("=") &&
      !hasLineBreakOrNul(name) && isWellFormed(value) && !value.includes("\0")
    );
}

function arePackages(packages: readonly string[]): boolean {
  return packages.length >= 1 &&
    packages.length <= MAX_INITIALIZATION_PACKAGES &&
    packages.every((name) =>
      name !== "" && isWellFormed(name) && !name.startsWith("-") &&
      !hasLineBreakOrNul(name)
    );
}
