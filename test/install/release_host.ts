/** A release served on loopback: archives, digests and a signature made with a key of the test. */
import { join } from "@std/path";

/** The version that the host serves. */
export const VERSION = "1.2.3";
/** The target of this machine. */
export const TARGET = `${Deno.build.arch}-unknown-linux-gnu`;
/** The archive of this machine. */
export const ARCHIVE = `agent-daemon-${VERSION}-${TARGET}.tar.gz`;

/** A served release; tests change `files` before they install. */
export interface ReleaseHost {
  readonly baseUrl: string;
  /** Path to content; a missing one is answered 404. */
  readonly files: Map<string, Uint8Array>;
  /** The paths that were asked for. */
  readonly requests: string[];
  /** The installer of this release, with its key. */
  readonly installer: string;
  /** Makes `SHA256SUMS` and its signature fit `files` again. */
  sign(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** What stands for the program: prints the version line and nothing else. */
export const PROGRAM_TEXT =
  `#!/bin/sh\n[ "$1" = version ] && echo 'agent-daemon ${VERSION} (wire 0.12.0, test)'\nexit 0\n`;

async function run(program: string, ...words: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, {
    args: words,
  }).output();
  if (!success) {
    throw new Error(`${program}: ${new TextDecoder().decode(stderr)}`);
  }
}

async function archiveOf(directory: string, text: string): Promise<Uint8Array> {
  const content = join(directory, "content");
  await Deno.mkdir(content, { recursive: true });
  await Deno.writeTextFile(join(content, "agent-daemon"), text, {
    mode: 0o755,
  });
  const archive = join(directory, "archive.tar.gz");
  await run("tar", "-czf", archive, "-C", content, "agent-daemon");
  return await Deno.readFile(archive);
}

/** Serves a good release whose program has `text`. */
export async function serveRelease(
  directory: string,
  text: string = PROGRAM_TEXT,
): Promise<ReleaseHost> {
  const key = join(directory, "key.pem");
  const publicKey = join(directory, "public.pem");
  await run(
    "openssl",
    "ecparam",
    "-name",
    "prime256v1",
    "-genkey",
    "-noout",
    "-out",
    key,
  );
  await run("openssl", "ec", "-in", key, "-pubout", "-out", publicKey);
  const files = new Map<string, Uint8Array>();
  const requests: string[] = [];
  files.set("/latest", new TextEncoder().encode(`${VERSION}\n`));
  files.set(`/${VERSION}/${ARCHIVE}`, await archiveOf(directory, text));
  const sign = () => signFiles(directory, key, files);
  await sign();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => {
      const { pathname } = new URL(request.url);
      requests.push(pathname);
      const content = files.get(pathname);
      return content
        ? new Response(new Uint8Array(content))
        : new Response(null, { status: 404 });
    },
  );
  const source = await Deno.readTextFile(
    new URL("../../install.sh", import.meta.url),
  );
  const pem = (await Deno.readTextFile(publicKey)).trim();
  const installer = join(directory, "install.sh");
  await Deno.writeTextFile(
    installer,
    source.replace("release_public_key=''", `release_public_key='${pem}'`),
  );
  return {
    baseUrl: `http://127.0.0.1:${server.addr.port}`,
    files,
    requests,
    installer,
    sign,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

async function signFiles(
  directory: string,
  key: string,
  files: Map<string, Uint8Array>,
): Promise<void> {
  const lines: string[] = [];
  for (const [path, content] of files) {
    if (!path.endsWith(".tar.gz")) continue;
    const digest = await crypto.subtle.digest(
      "SHA-256",
      new Uint8Array(content),
    );
    lines.push(
      `${new Uint8Array(digest).toHex()}  ${
        path.slice(path.lastIndexOf("/") + 1)
      }`,
    );
  }
  const sums = join(directory, "SHA256SUMS");
  await Deno.writeTextFile(sums, lines.map((line) => `${line}\n`).join(""));
  await run(
    "openssl",
    "dgst",
    "-sha256",
    "-sign",
    key,
    "-out",
    `${sums}.sig`,
    sums,
  );
  files.set(`/${VERSION}/SHA256SUMS`, await Deno.readFile(sums));
  files.set(`/${VERSION}/SHA256SUMS.sig`, await Deno.readFile(`${sums}.sig`));
}
