/** Who the daemon is: its device, its Core, its Environment and its workspace, from all sources. */
import type { Binding } from "./binding_file.ts";
import type { Credential } from "./credential.ts";
import { Mistake } from "./mistake.ts";
import type { Outside } from "./outside.ts";
import type { Settings } from "./settings.ts";
import { checkWorkspace, directoryOf } from "./workspace_choice.ts";
import { type CoreUrl, parseCoreUrl } from "../transport/core_url.ts";

/** The decided identity. */
export interface DaemonIdentity {
  readonly core: CoreUrl;
  readonly deviceId: string;
  /** Present when the daemon serves a workspace. */
  readonly bound?: BoundWorkspace;
}

/** What a bound daemon serves. */
export interface BoundWorkspace {
  readonly environmentId: string;
  readonly sessionId: string;
  /** The local root; links were followed. */
  readonly root: string;
}

/** Where the parts come from. */
export interface IdentitySources {
  readonly settings: Settings;
  readonly credential: Credential;
  /** Absolute path of the token file, when it is a file. */
  readonly tokenFile?: string;
  readonly binding?: Binding;
}

/**
 * Decides the identity.
 *
 * @throws {Mistake} when a part is missing or two sources disagree.
 */
export async function decideIdentity(
  sources: IdentitySources,
  outside: Outside,
): Promise<DaemonIdentity> {
  const { settings: { values }, credential, binding } = sources;
  const core = required(
    agreed(
      "--core-url",
      values.coreUrl ?? credential.coreUrl,
      binding?.core_url,
    ),
    "--core-url",
    "give Core's address: --core-url https://core.example",
  );
  const deviceId = required(
    agreed(
      "--device-id",
      values.deviceId ?? credential.deviceId,
      binding?.device_id,
    ),
    "--device-id",
    "give the id that Core's console shows: --device-id UUID",
  );
  const bound = await decideWorkspace(sources, outside);
  return {
    core: parseCoreUrl(core),
    deviceId,
    ...(bound === undefined ? {} : { bound }),
  };
}

async function decideWorkspace(
  { settings, credential, binding, tokenFile }: IdentitySources,
  outside: Outside,
): Promise<BoundWorkspace | undefined> {
  const { values } = settings;
  const environmentId = agreed(
    "--environment-id",
    values.environmentId ?? credential.environmentId,
    binding?.environment_id,
  );
  const sessionId = agreed(
    "--session-id",
    values.sessionId,
    binding?.session_id,
  );
  const workspace = values.workspace ?? binding?.workspace;
  const parts = { environmentId, sessionId, workspace };
  if (Object.values(parts).every((part) => part === undefined)) {
    return undefined;
  }
  // A workspace is never bound by the first request, so all three must be known now.
  const names = {
    environmentId: "--environment-id",
    sessionId: "--session-id",
    workspace: "--workspace",
  };
  const missing = Object.entries(parts)
    .filter(([, part]) => part === undefined)
    .map(([name]) => names[name as keyof typeof names]);
  if (
    missing.length > 0 || environmentId === undefined ||
    sessionId === undefined || workspace === undefined
  ) {
    throw new Mistake({
      place: missing.join(" and "),
      rule: "is missing: a workspace needs an Environment and a Session",
      fix: credential.kind === "executor"
        ? "run: agent-daemon enroll"
        : "give --workspace, --environment-id and --session-id, or none of them",
      exit: "usage",
    });
  }
  const own = [
    settings.directories.configuration,
    directoryOf(settings.configPath),
    settings.stateDirectory,
    ...(tokenFile === undefined ? [] : [directoryOf(tokenFile)]),
  ];
  const root = await checkWorkspace(workspace, { own }, outside);
  return { environmentId, sessionId, root };
}

function agreed(
  flag: string,
  given: string | undefined,
  enrolled: string | undefined,
): string | undefined {
  if (given !== undefined && enrolled !== undefined && given !== enrolled) {
    throw new Mistake({
      place: flag,
      rule: "differs from the enrolment of this state directory",
      fix: "leave it out, or choose another --state-dir",
      exit: "configuration",
    });
  }
  return given ?? enrolled;
}

function required(
  value: string | undefined,
  place: string,
  fix: string,
): string {
  if (value !== undefined) return value;
  throw new Mistake({ place, rule: "is missing", fix, exit: "usage" });
}
