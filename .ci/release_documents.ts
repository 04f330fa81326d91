/** The documents beside the archives of a release: digests, parts list, provenance. */
import { fromFileUrl, join } from "@std/path";
import { BUILD_VERSION, PERMISSIONS, PROGRAM } from "../src/cli/build.ts";

const root = fromFileUrl(new URL("..", import.meta.url));

/** SHA-256 of a file, as hex. */
export async function digest(path: string): Promise<string> {
  const bytes = await crypto.subtle.digest(
    "SHA-256",
    await Deno.readFile(path),
  );
  return new Uint8Array(bytes).toHex();
}

/** Every npm package in the lock file, in the CycloneDX form. */
export async function partsList(): Promise<string> {
  const lock = JSON.parse(await Deno.readTextFile(join(root, "deno.lock")));
  const components = Object.entries<{ readonly integrity?: string }>(lock.npm)
    .map(([id, { integrity }]) => {
      const [, name = id, version = ""] = /^(.+)@([^@_]+)/.exec(id) ?? [];
      return {
        type: "library",
        name,
        version,
        purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
        ...(integrity === undefined ? {} : {
          hashes: [{
            alg: "SHA-512",
            content: Uint8Array.fromBase64(integrity.replace("sha512-", ""))
              .toHex(),
          }],
        }),
      };
    });
  return JSON.stringify(
    {
      bomFormat: "CycloneDX",
      specVersion: "1.5",
      version: 1,
      metadata: {
        component: {
          type: "application",
          name: PROGRAM,
          version: BUILD_VERSION,
        },
      },
      components: [
        { type: "platform", name: "deno", version: Deno.version.deno },
        ...components,
      ],
    },
    null,
    2,
  );
}

/** What was built from which commit, in the in-toto form. */
export async function provenance(
  dist: string,
  names: readonly string[],
  commit: string,
): Promise<string> {
  const subject = await Promise.all(names.map(async (name) => ({
    name,
    digest: { sha256: await digest(join(dist, name)) },
  })));
  return JSON.stringify(
    {
      _type: "https://in-toto.io/Statement/v1",
      subject,
      predicateType: "https://slsa.dev/provenance/v1",
      predicate: {
        buildDefinition: {
          buildType: "deno-compile",
          externalParameters: { permissions: PERMISSIONS },
          resolvedDependencies: [{
            uri: "git+this-repository",
            digest: { gitCommit: commit },
          }],
        },
        runDetails: {
          builder: { id: Deno.env.get("GITHUB_WORKFLOW_REF") ?? "local" },
        },
      },
    },
    null,
    2,
  );
}
