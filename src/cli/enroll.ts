/** `enroll`: binds this machine to an Environment and remembers what Core answered. */
import { parseCoreUrl } from "../transport/core_url.ts";
import { createRedactor } from "../platform/redaction.ts";
import { readBinding, writeBinding } from "./binding_file.ts";
import { BUILD_VERSION, PROGRAM } from "./build.ts";
import type { Invocation } from "./command.ts";
import { openCredential } from "./credential_source.ts";
import { enrol, type EnrolAnswer } from "./enrolment.ts";
import { enrolMistake } from "./enrolment_check.ts";
import { EXIT_CODES } from "./exit_codes.ts";
import { Mistake } from "./mistake.ts";
import type { Outside } from "./outside.ts";
import { resolveSettings, type Settings } from "./settings.ts";
import { prepareStateDirectory } from "./state_directory.ts";
import { openNetwork } from "./way_out.ts";
import { checkWorkspace, directoryOf } from "./workspace_choice.ts";

/** What stands for the local root in Core's answer. */
const WORKSPACE_ALIAS = "/workspace";

/** Enrols once. A repeat with the same answer changes nothing. */
export async function enrollCommand(
  invocation: Invocation,
  outside: Outside,
): Promise<number> {
  if (outside.operatingSystem !== "windows") Deno.umask(0o077);
  const settings = await resolveSettings(invocation, outside);
  const { first, read } = await openCredential(
    settings,
    outside,
    createRedactor(),
  );
  const environmentId = settings.values.environmentId ??
    first.credential.environmentId;
  if (environmentId === undefined) {
    throw missing("--environment-id", "UUID");
  }
  const coreUrl = settings.values.coreUrl ?? first.credential.coreUrl;
  if (coreUrl === undefined) throw missing("--core-url", "URL");
  const core = parseCoreUrl(coreUrl);
  await prepareStateDirectory(settings.stateDirectory, outside);
  const known = await readBinding(settings.stateDirectory);
  // The target is checked before the credential travels to it.
  if (
    known !== undefined &&
    (known.core_url !== core.base || known.environment_id !== environmentId)
  ) throw otherBinding(settings);
  const outcome = await enrol({
    core,
    environmentId,
    credential: await read(),
    userAgent: `${PROGRAM}/${BUILD_VERSION}`,
  }, { network: await openNetwork(settings), clock: outside.clock });
  if (outcome.kind !== "enrolled") throw enrolMistake(outcome);
  const { answer } = outcome;
  if (
    known !== undefined &&
    (known.device_id !== answer.device_id ||
      known.session_id !== answer.session_id)
  ) throw otherBinding(settings);
  const workspace = await workspaceOf(settings, answer, first.path, outside);
  await writeBinding(settings.stateDirectory, {
    core_url: core.base,
    device_id: answer.device_id,
    environment_id: answer.environment_id,
    session_id: answer.session_id,
    workspace_directory: answer.workspace_directory,
    workspace,
  }, outside);
  outside.stdout.write(
    `enrolled device ${answer.device_id} for ${workspace}\nNext:\n  ${PROGRAM} run --token-file '${first.path}'\n`,
  );
  return EXIT_CODES.ok.code;
}

async function workspaceOf(
  settings: Settings,
  answer: EnrolAnswer,
  tokenFile: string,
  outside: Outside,
): Promise<string> {
  const named = answer.workspace_directory;
  const chosen = settings.values.workspace ??
    (named === WORKSPACE_ALIAS ? undefined : named);
  if (chosen === undefined) throw missing("--workspace", "DIR");
  const own = [
    settings.directories.configuration,
    settings.stateDirectory,
    ...(tokenFile === "-" ? [] : [directoryOf(tokenFile)]),
  ];
  const root = await checkWorkspace(chosen, { own }, outside);
  if (named === WORKSPACE_ALIAS || named === root || named === chosen) {
    return root;
  }
  throw new Mistake({
    place: "--workspace",
    rule: "is not the directory that Core has for this Environment",
    fix: "leave it out, or change the Environment at Core",
    exit: "configuration",
  });
}

function missing(flag: string, placeholder: string): Mistake {
  return new Mistake({
    place: flag,
    rule: "is missing",
    fix: `write ${flag} ${placeholder}`,
    exit: "usage",
  });
}

function otherBinding(settings: Settings): Mistake {
  return new Mistake({
    place: `--state-dir ${settings.stateDirectory}`,
    rule: "is enrolled for something else",
    fix: "use another --state-dir",
    exit: "configuration",
  });
}
