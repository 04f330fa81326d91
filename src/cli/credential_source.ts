/**
 * The credential over the life of the daemon: read anew before each attempt, watched while it is
 * rejected, known to the redactor from the first moment.
 */
import { sleep } from "../platform/clock.ts";
import { type FileIdentity, fileIdentity } from "../platform/protected_file.ts";
import type { Redactor } from "../platform/redaction.ts";
import { loadCredential, type LoadedCredential } from "./credential.ts";
import type { Outside } from "./outside.ts";
import type { Settings } from "./settings.ts";

/** How often a rejected credential's file is looked at, in milliseconds. */
const POLL = 30_000;

/** Gives the credential to whoever dials. */
export interface CredentialSource {
  /** What the file said at the start. */
  readonly first: LoadedCredential;
  /** The token now. Rejects when the file breaks a rule now. */
  read(): Promise<string>;
  /** Resolves when the file is another one than the last that was read. */
  changed(signal: AbortSignal): Promise<void>;
}

/**
 * Reads the credential for the first time.
 *
 * @throws {Mistake} when it cannot be used.
 */
export async function openCredential(
  settings: Settings,
  outside: Outside,
  redactor: Redactor,
): Promise<CredentialSource> {
  const load = async () => {
    const loaded = await loadCredential(settings, outside);
    redactor.add(loaded.credential.token);
    return loaded;
  };
  const first = await load();
  let last: FileIdentity | undefined = first.identity;
  return {
    first,
    async read() {
      // What came from stdin cannot be read twice.
      if (first.identity === undefined) return first.credential.token;
      const loaded = await load();
      last = loaded.identity;
      return loaded.credential.token;
    },
    async changed(signal) {
      for (;;) {
        await sleep(outside.clock, POLL, signal);
        if (first.identity === undefined) continue;
        const now = fileIdentity(first.path);
        if (now !== undefined && now !== last) return;
      }
    },
  };
}
