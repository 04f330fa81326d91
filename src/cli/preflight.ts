/** Everything that `run` can check before it holds a lock or sends a request. */
import { createRedactor, type Redactor } from "../platform/redaction.ts";
import type { Network } from "../transport/network.ts";
import { type Binding, readBinding } from "./binding_file.ts";
import type { Invocation } from "./command.ts";
import { type CredentialSource, openCredential } from "./credential_source.ts";
import { type DaemonIdentity, decideIdentity } from "./identity.ts";
import { Mistake } from "./mistake.ts";
import type { Outside } from "./outside.ts";
import { resolveSettings, type Settings } from "./settings.ts";
import { openNetwork } from "./way_out.ts";

/** What was found to be in order. */
export interface Preflight {
  readonly settings: Settings;
  readonly redactor: Redactor;
  readonly credential: CredentialSource;
  readonly binding: Binding | undefined;
  readonly identity: DaemonIdentity;
  readonly network: Network;
}

/**
 * Checks user, settings, credential, enrolment, identity, workspace and network settings. From
 * here on every new file is private.
 *
 * @throws {Mistake} for the first thing that is not in order.
 */
export async function preflight(
  invocation: Invocation,
  outside: Outside,
): Promise<Preflight> {
  refuseRoot(invocation, outside);
  if (outside.operatingSystem !== "windows") Deno.umask(0o077);
  const settings = await resolveSettings(invocation, outside);
  const redactor = createRedactor();
  const credential = await openCredential(settings, outside, redactor);
  const binding = await readBinding(settings.stateDirectory);
  const identity = await decideIdentity({
    settings,
    credential: credential.first.credential,
    ...(credential.first.path === "-"
      ? {}
      : { tokenFile: credential.first.path }),
    ...(binding === undefined ? {} : { binding }),
  }, outside);
  const network = await openNetwork(settings);
  return { settings, redactor, credential, binding, identity, network };
}

/** Root could do anything; tools of a Harness would inherit it. */
function refuseRoot(invocation: Invocation, outside: Outside): void {
  if (outside.userId !== 0 || invocation.options.has("allow-root")) return;
  throw new Mistake({
    place: "user",
    rule: "must not be root: tools run as the daemon's user",
    fix: "run as an ordinary user, or give --allow-root",
    exit: "usage",
  });
}
