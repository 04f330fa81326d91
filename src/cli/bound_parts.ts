/** What a bound daemon adds to each router: the binding and the families of its workspace. */
import type { Log } from "../platform/log.ts";
import type { BoundWorkspace } from "./identity.ts";
import type { Outside } from "./outside.ts";
import type { BoundParts } from "./session_parts.ts";
import type { Settings } from "./settings.ts";

/** Opens the workspace for the life of the process. */
export function openBoundParts(
  _bound: BoundWorkspace,
  _settings: Settings,
  _outside: Outside,
  _log: Log,
): Promise<BoundParts | undefined> {
  return Promise.resolve(undefined);
}
