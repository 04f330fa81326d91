/** `upgrade` and `rollback`: another release in the place of this one, or the one before it. */
import { join } from "@std/path";
import { PROTOCOL_VERSION } from "../protocol/version.ts";
import {
  BUILD_VERSION,
  PROGRAM,
  RELEASE_BASE_URL,
  RELEASE_PUBLIC_KEY,
} from "./build.ts";
import type { Invocation } from "./command.ts";
import { EXIT_CODES } from "./exit_codes.ts";
import { Mistake } from "./mistake.ts";
import type { Outside } from "./outside.ts";
import {
  fetchRelease,
  installedVersions,
  newestVersion,
  type ReleaseStoreOptions,
  switchTo,
} from "./release_store.ts";
import { resolveSettings } from "./settings.ts";
import { prepareStateDirectory } from "./state_directory.ts";

/** Installs another release. */
export async function upgradeCommand(
  invocation: Invocation,
  outside: Outside,
): Promise<number> {
  const store = await openStore(invocation, outside);
  const version = invocation.options.get("version") ??
    await newestVersion(store);
  const say = (text: string) => outside.stdout.write(`${text}\n`);
  if (version === BUILD_VERSION) {
    say(`${BUILD_VERSION} is installed already`);
    return EXIT_CODES.ok.code;
  }
  if (invocation.options.has("check")) {
    say(`would install ${version} in the place of ${BUILD_VERSION}`);
    return EXIT_CODES.ok.code;
  }
  const release = await fetchRelease(store, version);
  if (
    release.protocolVersion !== PROTOCOL_VERSION &&
    !invocation.options.has("force")
  ) {
    throw new Mistake({
      place: `release ${version}`,
      rule:
        `speaks wire ${release.protocolVersion}, this one ${PROTOCOL_VERSION}; a Core accepts only its own`,
      fix: "upgrade Core first, then give --force",
      exit: "protocol",
    });
  }
  await switchTo(store, version, BUILD_VERSION);
  say(`installed ${version}; ${BUILD_VERSION} is kept for rollback`);
  say(`Next:\n  ${PROGRAM} service restart`);
  return EXIT_CODES.ok.code;
}

/** Switches back to the version before this one. */
export async function rollbackCommand(
  invocation: Invocation,
  outside: Outside,
): Promise<number> {
  const store = await openStore(invocation, outside);
  const versions = await installedVersions(store);
  const earlier = versions.filter((each) => each !== BUILD_VERSION).at(-1);
  if (earlier === undefined) {
    throw new Mistake({
      place: "rollback",
      rule: "no earlier release is kept here",
      fix: "install one with: agent-daemon upgrade --version VERSION",
      exit: "configuration",
    });
  }
  await switchTo(store, earlier, BUILD_VERSION);
  outside.stdout.write(
    `installed ${earlier}\nNext:\n  ${PROGRAM} service restart\n`,
  );
  return EXIT_CODES.ok.code;
}

async function openStore(
  invocation: Invocation,
  outside: Outside,
): Promise<ReleaseStoreOptions> {
  const settings = await resolveSettings(invocation, outside);
  if (!Deno.build.standalone) {
    throw new Mistake({
      place: invocation.command.name,
      rule: "this command runs from a checkout",
      fix: "change the checkout with git instead",
      exit: "configuration",
    });
  }
  const baseUrl = invocation.options.get("base-url") ?? RELEASE_BASE_URL;
  if (baseUrl === "" || RELEASE_PUBLIC_KEY === "") {
    throw new Mistake({
      place: invocation.command.name,
      rule: "this build names no release host or key",
      fix: "install a release with install.sh",
      exit: "configuration",
    });
  }
  await prepareStateDirectory(settings.stateDirectory, outside);
  return {
    program: Deno.execPath(),
    directory: join(settings.stateDirectory, "versions"),
    baseUrl,
    publicKey: RELEASE_PUBLIC_KEY,
    target: Deno.build.target,
    programName: PROGRAM,
  };
}
