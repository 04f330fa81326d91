/**
 * Releases on this machine: downloads one, proves its origin, tries it, and only then puts it in
 * the place of the running program. The two versions before it are kept.
 */
import { createPublicKey, verify } from "node:crypto";
import { join } from "@std/path";
import { Mistake } from "./mistake.ts";

/** Versions that are kept beside the one in use. */
const KEPT = 2;
/** The longest archive in bytes. */
const ARCHIVE_LIMIT = 512 * 1024 * 1024;
/** The longest list of digests or signature in bytes. */
const SMALL_LIMIT = 65_536;
/** Time for one download in milliseconds. */
const DOWNLOAD = 600_000;

/** What a store works with. */
export interface ReleaseStoreOptions {
  /** The program that is replaced; absolute. */
  readonly program: string;
  /** Where versions are kept; private. */
  readonly directory: string;
  readonly baseUrl: string;
  readonly publicKey: string;
  /** Such as `x86_64-unknown-linux-gnu`. */
  readonly target: string;
  readonly programName: string;
}

/** A release that was downloaded, proven and tried. */
export interface TriedRelease {
  readonly version: string;
  /** The wire that it speaks. */
  readonly protocolVersion: string;
  /** The program in the store. */
  readonly path: string;
}

/** A name of a release. */
const VERSION = /^[A-Za-z0-9][A-Za-z0-9.+-]{0,63}$/;

/**
 * The version that the host calls the newest.
 *
 * @throws {Mistake} when it cannot be learnt.
 */
export async function newestVersion(
  options: ReleaseStoreOptions,
): Promise<string> {
  const text = new TextDecoder().decode(
    await download(options, "latest", SMALL_LIMIT),
  ).trim();
  if (VERSION.test(text)) return text;
  throw mistake("latest", "is no version", "give --version");
}

/**
 * Downloads a release into the store, checks signature and digest, and runs it once.
 *
 * @throws {Mistake} at the first thing that is not in order; nothing is left then.
 */
export async function fetchRelease(
  options: ReleaseStoreOptions,
  version: string,
): Promise<TriedRelease> {
  if (!VERSION.test(version)) {
    throw mistake("--version", "must be a release such as 1.2.3", "check it");
  }
  const sums = await download(options, `${version}/SHA256SUMS`, SMALL_LIMIT);
  const signature = await download(
    options,
    `${version}/SHA256SUMS.sig`,
    SMALL_LIMIT,
  );
  const key = createPublicKey(options.publicKey);
  if (!verify("sha256", sums, key, signature)) {
    throw mistake(
      "SHA256SUMS",
      "has a wrong signature",
      "do not install this release; tell its publisher",
    );
  }
  const archive = `${options.programName}-${version}-${options.target}.tar.gz`;
  const expected = digestOf(archive, sums);
  const bytes = await download(options, `${version}/${archive}`, ARCHIVE_LIMIT);
  await checkDigest(bytes, expected, archive);
  const directory = join(options.directory, version);
  await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
  try {
    return await unpackAndTry(options, version, directory, bytes);
  } catch (error) {
    await Deno.remove(directory, { recursive: true });
    throw error;
  }
}

function digestOf(archive: string, sums: Uint8Array): string {
  const digest = new TextDecoder().decode(sums).split("\n")
    .map((line) => line.split(/\s+\*?/))
    .find(([, name]) => name === archive)?.[0];
  if (digest !== undefined) return digest;
  throw mistake(archive, "is not in this release", "choose another version");
}

async function checkDigest(
  bytes: Uint8Array<ArrayBuffer>,
  expected: string,
  archive: string,
): Promise<void> {
  const digest = new Uint8Array(
    await crypto.subtle.digest("SHA-256", bytes),
  ).toHex();
  if (digest !== expected) {
    throw mistake(archive, "has a wrong digest", "download it again");
  }
}

async function unpackAndTry(
  options: ReleaseStoreOptions,
  version: string,
  directory: string,
  bytes: Uint8Array,
): Promise<TriedRelease> {
  const name = Deno.build.os === "windows"
    ? `${options.programName}.exe`
    : options.programName;
  const archive = join(directory, "archive.tar.gz");
  await Deno.writeFile(archive, bytes, { mode: 0o600 });
  const unpacked = await new Deno.Command("tar", {
    args: ["-xzf", archive, "-C", directory, name],
    stdin: "null",
  }).output();
  await Deno.remove(archive);
  const path = join(directory, name);
  if (!unpacked.success || !(await Deno.lstat(path)).isFile) {
    throw mistake("archive", "does not hold the program", "tell its publisher");
  }
  if (Deno.build.os !== "windows") await Deno.chmod(path, 0o700);
  const tried = await new Deno.Command(path, {
    args: ["version", "--json"],
    stdin: "null",
  }).output();
  const document: unknown = tried.success ? parse(tried.stdout) : undefined;
  const { version: said, protocol_version: wire } = (document ?? {}) as {
    readonly version?: unknown;
    readonly protocol_version?: unknown;
  };
  if (said !== version || typeof wire !== "string") {
    throw mistake(
      "program",
      "does not run here or is another version",
      "tell its publisher",
    );
  }
  return { version, protocolVersion: wire, path };
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined; // printed something else
  }
}

/** The versions in use and before, newest last; kept in the order of their installation. */
export async function installedVersions(
  options: Pick<ReleaseStoreOptions, "directory">,
): Promise<string[]> {
  try {
    const document: unknown = JSON.parse(
      await Deno.readTextFile(join(options.directory, "installed.json")),
    );
    return Array.isArray(document)
      ? document.filter((each) =>
        typeof each === "string" && VERSION.test(each)
      )
      : [];
  } catch {
    return []; // no upgrade happened yet
  }
}

/**
 * Puts `version` of the store in the place of the program in one step; a running program keeps its
 * own file. `current` is what runs now and is kept in the store.
 */
export async function switchTo(
  options: ReleaseStoreOptions,
  version: string,
  current: string,
): Promise<void> {
  const name = Deno.build.os === "windows"
    ? `${options.programName}.exe`
    : options.programName;
  const kept = join(options.directory, current);
  await Deno.mkdir(kept, { recursive: true, mode: 0o700 });
  await Deno.copyFile(options.program, join(kept, name));
  const fresh = `${options.program}.new`;
  await Deno.copyFile(join(options.directory, version, name), fresh);
  if (Deno.build.os === "windows") {
    // A running program can be renamed there, but not replaced.
    await Deno.rename(options.program, `${options.program}.old`);
  } else {
    const { mode } = await Deno.stat(options.program);
    await Deno.chmod(fresh, (mode ?? 0o700) & 0o777);
  }
  await Deno.rename(fresh, options.program);
  const order = (await installedVersions(options))
    .filter((each) => each !== version && each !== current);
  const all = [...order, current, version];
  for (const old of all.splice(0, Math.max(0, all.length - 1 - KEPT))) {
    await Deno.remove(join(options.directory, old), { recursive: true });
  }
  await Deno.writeTextFile(
    join(options.directory, "installed.json"),
    JSON.stringify(all),
  );
}

async function download(
  options: ReleaseStoreOptions,
  path: string,
  limit: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const url = new URL(`${options.baseUrl.replace(/\/$/, "")}/${path}`);
  requireSecure(url);
  let response: Response;
  try {
    response = await fetch(url, { signal: AbortSignal.timeout(DOWNLOAD) });
  } catch {
    throw unavailable(path);
  }
  requireSecure(new URL(response.url)); // also after redirects
  if (!response.ok || response.body === null) {
    await response.body?.cancel();
    throw unavailable(path);
  }
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body) {
    length += part.length;
    if (length > limit) {
      throw mistake(path, "is too long", "tell its publisher");
    }
    parts.push(part);
  }
  return new Uint8Array(await new Blob(parts as BlobPart[]).arrayBuffer());
}

function requireSecure(url: URL): void {
  const loopback = url.hostname === "127.0.0.1" || url.hostname === "[::1]" ||
    url.hostname === "localhost";
  if (url.protocol === "https:" || (url.protocol === "http:" && loopback)) {
    return;
  }
  throw mistake("--base-url", "must be https", "name a host that serves https");
}

function unavailable(path: string): Mistake {
  return new Mistake({
    place: path,
    rule: "could not be downloaded",
    fix: "check the network and --base-url",
    exit: "unavailable",
  });
}

function mistake(place: string, rule: string, fix: string): Mistake {
  return new Mistake({ place, rule, fix, exit: "configuration" });
}
