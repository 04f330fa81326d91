/**
 * A closer look at an installed program: does the protocol that it generates still hold what this
 * adapter relies on, and is there a login. Asks no model and opens no secret.
 */
import { join } from "@std/path";
import type { Child } from "../../src/harness/child.ts";
import { childEnvironment } from "../../src/harness/child_environment.ts";
import type { DiscoveryContext } from "../../src/harness/contract.ts";
import { type Finding, loginFinding } from "../../src/harness/finding.ts";
import { within } from "../../src/platform/clock.ts";
import { CODEX_VERSIONS } from "./declaration.ts";
import {
  compareNativeSchema,
  type Difference,
  type GeneratedSchemas,
} from "./native_contract.ts";

/** What is looked at. */
export interface InspectedProgram {
  readonly program: string;
  readonly leadingArguments: readonly string[];
  readonly pathPrefix: readonly string[];
  /** Its own version. */
  readonly version: string;
}

/** Time to generate the schemas, in milliseconds: 0.3 s was measured. */
const GENERATION = 10_000;
const GRACE = { afterEndOfInput: 500, afterTerminate: 500, afterKill: 2_000 };
/** Nothing that is read comes from its stdout. */
const LINE_BYTES = 64 * 1024;
/** The longest schema file, in bytes: 0.2 MB was the largest seen. */
const SCHEMA_BYTES = 16 * 1024 * 1024;
/** Differences that are named; the rest is counted. */
const NAMED = 3;

/** All findings. Never throws for what the program does. */
export async function inspectCodex(
  context: DiscoveryContext,
  inspected: InspectedProgram,
): Promise<readonly Finding[]> {
  const { environment } = context;
  const home = environment.CODEX_HOME ??
    (environment.HOME === undefined
      ? undefined
      : join(environment.HOME, ".codex"));
  return [
    await schemaFinding(context, inspected),
    await loginFinding(home === undefined ? [] : [join(home, "auth.json")]),
  ];
}

async function schemaFinding(
  context: DiscoveryContext,
  inspected: InspectedProgram,
): Promise<Finding> {
  const directory = join(
    context.stateDirectory,
    `schema-${context.ids.hex(4)}`,
  );
  await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
  try {
    return judge(
      compareNativeSchema(await generate(context, inspected, directory)),
      inspected.version,
    );
  } catch (error) {
    context.log.info("codex.schema.unread", {
      error: error instanceof Error ? error : String(error),
    });
    return {
      subject: "schema",
      result: "warn",
      found:
        `${inspected.version} did not write the schema of its protocol, so drift cannot be seen`,
      remedy:
        `install a tested version, such as ${CODEX_VERSIONS.newestTested}`,
    };
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

function judge(
  differences: readonly Difference[],
  version: string,
): Finding {
  const tested = CODEX_VERSIONS.newestTested;
  if (differences.length === 0) {
    return {
      subject: "schema",
      result: "ok",
      found:
        `the protocol of ${version} holds all that was tested with ${tested}`,
    };
  }
  const named = differences.slice(0, NAMED).map(describe).join(", ");
  const more = differences.length > NAMED
    ? ` and ${differences.length - NAMED} more`
    : "";
  return {
    subject: "schema",
    result: "warn",
    found:
      `the protocol of ${version} differs from the tested ${tested}: ${named}${more}`,
    remedy: `install ${tested}, or a newer agent-daemon`,
  };
}

function describe({ method, member, kind }: Difference): string {
  const name = member === undefined ? method : `${method}.${member}`;
  return `${name} ${kind.replaceAll("_", " ")}`;
}

/** Lets the program write its schemas into `directory`, its home for this one time. */
async function generate(
  context: DiscoveryContext,
  inspected: InspectedProgram,
  directory: string,
): Promise<GeneratedSchemas> {
  const { clock, log, environment, operatingSystem } = context;
  const child = await context.spawn({
    program: inspected.program,
    arguments: [
      ...inspected.leadingArguments,
      "app-server",
      "generate-json-schema",
      "--out",
      directory,
      "--experimental",
    ],
    workingDirectory: directory,
    environment: childEnvironment({
      source: environment,
      operatingSystem,
      home: directory,
      temporaryDirectory: directory,
      pathPrefix: inspected.pathPrefix,
      additions: { CODEX_HOME: directory },
    }),
    pipes: "none",
    name: "codex schema",
    clock,
    log,
    closeGrace: GRACE,
    maximumLineBytes: LINE_BYTES,
  });
  await ended(context, child);
  return {
    clientRequest: await read(directory, "ClientRequest"),
    serverNotification: await read(directory, "ServerNotification"),
    serverRequest: await read(directory, "ServerRequest"),
  };
}

async function ended(context: DiscoveryContext, child: Child): Promise<void> {
  try {
    const { code } = await within(
      context.clock,
      GENERATION,
      "codex schema",
      child.exited,
    );
    if (code !== 0) throw new Error("codex: no schema was generated");
  } finally {
    await child.close();
  }
}

async function read(directory: string, name: string): Promise<unknown> {
  const path = join(directory, `${name}.json`);
  if ((await Deno.stat(path)).size > SCHEMA_BYTES) {
    throw new Error("codex: a schema file is too long");
  }
  return JSON.parse(await Deno.readTextFile(path));
}
