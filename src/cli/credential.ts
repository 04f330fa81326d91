/**
 * The credential: its file, its formats and what it says about the device. The token is kept in
 * one object and never becomes part of a message.
 */
import { join } from "@std/path";
import { z } from "zod";
import {
  type FileIdentity,
  readProtectedFile,
} from "../platform/protected_file.ts";
import { hasRepeatedMember } from "../protocol/raw.ts";
import { Mistake } from "./mistake.ts";
import type { Outside } from "./outside.ts";
import { canonicalUuid } from "./setting.ts";
import type { Settings } from "./settings.ts";
import { SETTINGS } from "./settings_table.ts";

/** The longest token file in bytes. */
export const TOKEN_FILE_LIMIT = 16_384;
/** Bounds of a token in bytes. */
const TOKEN_LEAST = 16;
const TOKEN_MOST = 4_096;

/** A credential and what its file says besides. */
export interface Credential {
  readonly token: string;
  /** `token` is a bare line; the others are the JSON forms that Core hands out. */
  readonly kind: "token" | "executor" | "profile" | "bootstrap";
  readonly deviceId?: string;
  readonly environmentId?: string;
  readonly keyId?: string;
  readonly coreUrl?: string;
}

/** Where the credential came from; `-` stands for stdin. */
export interface LoadedCredential {
  readonly credential: Credential;
  readonly path: string;
  /** Absent for stdin, which cannot change. */
  readonly identity?: FileIdentity;
}

/** The path of the token file in effect. */
export function tokenPath(settings: Settings, outside: Outside): string {
  const { bootstrapFile, tokenFile } = settings.values;
  const given = bootstrapFile ?? tokenFile;
  if (given !== undefined) return given;
  const credentials = outside.environment.CREDENTIALS_DIRECTORY;
  return credentials
    ? join(credentials, "token")
    : join(settings.directories.configuration, "token");
}

/**
 * Reads and checks the credential in effect.
 *
 * @throws {Mistake} when the file breaks a rule, or says something else than the settings.
 */
export async function loadCredential(
  settings: Settings,
  outside: Outside,
): Promise<LoadedCredential> {
  checkStandsAlone(settings);
  const path = tokenPath(settings, outside);
  const { bytes, identity } = path === "-"
    ? { bytes: await readFromStdin(outside), identity: undefined }
    : readFromFile(path, outside);
  const place = path === "-" ? "stdin" : path;
  try {
    const credential = parseCredential(bytes, place);
    checkAgreement(credential, settings, place);
    checkForm(credential, settings, place);
    return {
      credential,
      path,
      ...(identity === undefined ? {} : { identity }),
    };
  } finally {
    bytes.fill(0); // the text lives on in one string; this copy need not
  }
}

async function readFromStdin(outside: Outside): Promise<Uint8Array> {
  try {
    return await outside.readStdin(TOKEN_FILE_LIMIT);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw refused(
      "stdin",
      `is longer than ${TOKEN_FILE_LIMIT} bytes`,
      "send only the token",
    );
  }
}

function readFromFile(
  path: string,
  outside: Outside,
): { bytes: Uint8Array; identity: FileIdentity } {
  const credentials = outside.environment.CREDENTIALS_DIRECTORY;
  const file = readProtectedFile(path, {
    maximumBytes: TOKEN_FILE_LIMIT,
    userId: outside.userId,
    ...(credentials ? { credentialsDirectory: credentials } : {}),
  });
  if (!file.ok) throw refused(path, file.rule, file.fix);
  return file;
}

/**
 * Parses the content of a token file: one bare line, or one of the JSON forms. `place` names the
 * file in mistakes.
 *
 * @throws {Mistake} without any content in its text.
 */
export function parseCredential(bytes: Uint8Array, place: string): Credential {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes).trim();
  } catch {
    throw refused(place, "is not UTF-8 text", "write the token again");
  }
  if (text === "") {
    throw refused(place, "is empty", "write the token into it");
  }
  return text.startsWith("{")
    ? parseDocument(text, place)
    : { token: checkToken(text, place), kind: "token" };
}

function checkToken(text: string, place: string): string {
  if (/[\r\n]/.test(text)) {
    throw refused(
      place,
      "must hold one line",
      "keep only the line of the token",
    );
  }
  // Anything else could not stand in a header and would fail later, less clearly.
  if (!/^[\x21-\x7e]+$/.test(text)) {
    throw refused(
      place,
      "must hold visible ASCII characters without spaces",
      "write the token again",
    );
  }
  if (text.length < TOKEN_LEAST || text.length > TOKEN_MOST) {
    throw refused(
      place,
      `must hold a token of ${TOKEN_LEAST} to ${TOKEN_MOST} characters`,
      "check that it is complete",
    );
  }
  return text;
}

const coreUrl = SETTINGS.coreUrl.schema;

const executorDocument = z.strictObject({
  key_id: canonicalUuid,
  environment_id: canonicalUuid.optional(),
  executor_token: z.string(),
});
const profileDocument = z.strictObject({
  server_url: coreUrl,
  runtime_id: canonicalUuid,
  runner_credential: z.string(),
  device_name: z.string().optional(),
});
const bootstrapDocument = z.strictObject({
  version: z.union([z.literal(1), z.literal(2)]),
  core_url: coreUrl,
  device_id: canonicalUuid,
  credential: z.string(),
  harness: z.string().regex(/^[a-z][a-z0-9_]{0,63}$/).optional(),
});

function parseDocument(text: string, place: string): Credential {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    throw refused(place, "starts like JSON but is none", "copy it again");
  }
  if (hasRepeatedMember(text)) {
    throw refused(place, "repeats a member", "copy it again");
  }
  const executor = executorDocument.safeParse(document);
  if (executor.success) {
    const { key_id, environment_id, executor_token } = executor.data;
    return {
      token: checkToken(executor_token, place),
      kind: "executor",
      keyId: key_id,
      ...(environment_id === undefined
        ? {}
        : { environmentId: environment_id }),
    };
  }
  const profile = profileDocument.safeParse(document);
  if (profile.success) {
    return {
      token: checkToken(profile.data.runner_credential, place),
      kind: "profile",
      deviceId: profile.data.runtime_id,
      coreUrl: profile.data.server_url,
    };
  }
  const bootstrap = bootstrapDocument.safeParse(document);
  if (bootstrap.success) {
    return {
      token: checkToken(bootstrap.data.credential, place),
      kind: "bootstrap",
      deviceId: bootstrap.data.device_id,
      coreUrl: bootstrap.data.core_url,
    };
  }
  throw refused(
    place,
    "is none of the JSON forms that Core hands out",
    "copy the file again, or keep only the token",
  );
}

function checkAgreement(
  credential: Credential,
  settings: Settings,
  place: string,
): void {
  const pairs = [
    ["--device-id", settings.values.deviceId, credential.deviceId],
    [
      "--environment-id",
      settings.values.environmentId,
      credential.environmentId,
    ],
    ["--core-url", settings.values.coreUrl, credential.coreUrl],
  ] as const;
  for (const [flag, set, said] of pairs) {
    if (set !== undefined && said !== undefined && set !== said) {
      throw refused(
        place,
        `says something else than ${flag}`,
        "use the file that belongs to it, or leave the setting out",
      );
    }
  }
}

/** A managed machine's file says everything; a second source could only contradict it. */
function checkStandsAlone({ values }: Settings): void {
  if (values.bootstrapFile === undefined) return;
  const others = [
    ["--token-file", values.tokenFile],
    ["--device-id", values.deviceId],
    ["--core-url", values.coreUrl],
  ] as const;
  for (const [flag, value] of others) {
    if (value === undefined) continue;
    throw new Mistake({
      place: "--bootstrap-file",
      rule: `cannot be combined with ${flag}`,
      fix: `leave ${flag} out; the file says it`,
      exit: "usage",
    });
  }
}

function checkForm(
  { kind }: Credential,
  { values }: Settings,
  place: string,
): void {
  if (values.bootstrapFile === undefined || kind === "bootstrap") return;
  throw refused(
    place,
    "is no bootstrap file",
    "give another form of credential with --token-file",
  );
}

function refused(place: string, rule: string, fix: string): Mistake {
  return new Mistake({ place, rule, fix, exit: "configuration" });
}
