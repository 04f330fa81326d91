/** Upgrade and rollback against a release on loopback. */
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { Mistake } from "../../src/cli/mistake.ts";
import {
  fetchRelease,
  installedVersions,
  newestVersion,
  type ReleaseStoreOptions,
  switchTo,
} from "../../src/cli/release_store.ts";
import {
  ARCHIVE,
  type ReleaseHost,
  serveRelease,
  TARGET,
  VERSION,
} from "../install/release_host.ts";

const PROGRAM = `#!/bin/sh
echo '{"name":"agent-daemon","version":"${VERSION}","protocol_version":"0.12.0"}'
`;

async function withStore(
  body: (store: ReleaseStoreOptions, host: ReleaseHost) => Promise<void>,
): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    await using host = await serveRelease(directory, PROGRAM);
    const program = join(directory, "agent-daemon");
    await Deno.writeTextFile(program, "#!/bin/sh\necho old\n", { mode: 0o755 });
    await body({
      program,
      directory: join(directory, "versions"),
      baseUrl: host.baseUrl,
      publicKey: await Deno.readTextFile(join(directory, "public.pem")),
      target: TARGET,
      programName: "agent-daemon",
    }, host);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("a proven release replaces the program in one step and can be taken back", () =>
  withStore(async (store) => {
    assertEquals(await newestVersion(store), VERSION);
    const release = await fetchRelease(store, VERSION);
    assertEquals(release.protocolVersion, "0.12.0");
    await switchTo(store, VERSION, "1.0.0");
    assertEquals(await Deno.readTextFile(store.program), PROGRAM);
    assertEquals((Deno.statSync(store.program).mode ?? 0) & 0o777, 0o755);
    assertEquals(await installedVersions(store), ["1.0.0", VERSION]);
    await switchTo(store, "1.0.0", VERSION);
    assertEquals(
      await Deno.readTextFile(store.program),
      "#!/bin/sh\necho old\n",
    );
    assertEquals(await installedVersions(store), [VERSION, "1.0.0"]);
  }));

Deno.test("two versions before the one in use are kept, older ones go", () =>
  withStore(async (store) => {
    await fetchRelease(store, VERSION);
    for (const current of ["1.0.0", "1.0.1", "1.0.2"]) {
      await switchTo(store, VERSION, current);
    }
    assertEquals(await installedVersions(store), ["1.0.1", "1.0.2", VERSION]);
    const kept = [...Deno.readDirSync(store.directory)]
      .filter((entry) => entry.isDirectory).map((entry) => entry.name);
    assertEquals(kept.toSorted(), ["1.0.1", "1.0.2", VERSION]);
  }));

const faults: readonly (readonly [
  string,
  (host: ReleaseHost) => void,
  RegExp,
])[] = [
  [
    "a changed archive",
    (host) => host.files.set(`/${VERSION}/${ARCHIVE}`, new Uint8Array(9)),
    /has a wrong digest/,
  ],
  [
    "changed digests",
    (host) => host.files.set(`/${VERSION}/SHA256SUMS`, new Uint8Array(9)),
    /has a wrong signature/,
  ],
  [
    "a changed signature",
    (host) => host.files.set(`/${VERSION}/SHA256SUMS.sig`, new Uint8Array(70)),
    /has a wrong signature/,
  ],
  [
    "no archive",
    (host) => host.files.delete(`/${VERSION}/${ARCHIVE}`),
    /could not be downloaded/,
  ],
];
for (const [name, change, line] of faults) {
  Deno.test(`${name} leaves the program and the store as they were`, () =>
    withStore(async (store, host) => {
      change(host);
      const before = await Deno.readTextFile(store.program);
      const mistake = await assertRejects(
        () => fetchRelease(store, VERSION),
        Mistake,
      );
      assertMatch(mistake.message, line);
      assertEquals(await Deno.readTextFile(store.program), before);
      assertEquals(await installedVersions(store), []);
    }));
}

Deno.test("another platform, another version and plain http are refused", () =>
  withStore(async (store) => {
    const refused = async (
      options: ReleaseStoreOptions,
      version: string,
      line: RegExp,
    ) => {
      const mistake = await assertRejects(
        () => fetchRelease(options, version),
        Mistake,
      );
      assertMatch(mistake.message, line);
    };
    await refused(
      { ...store, target: "sparc" },
      VERSION,
      /is not in this release/,
    );
    await refused(store, "../x", /must be a release such as/);
    await refused(
      { ...store, baseUrl: "http://x.example" },
      VERSION,
      /must be https/,
    );
  }));
