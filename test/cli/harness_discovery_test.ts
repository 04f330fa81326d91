/** A program that is replaced, removed or installed while the daemon runs. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import {
  discoverHarnesses,
  type HarnessDiscoveryOptions,
  watchHarnesses,
} from "../../src/cli/harness_discovery.ts";
import { parseArguments } from "../../src/cli/parse.ts";
import { resolveSettings } from "../../src/cli/settings.ts";
import type { Child } from "../../src/harness/child.ts";
import type {
  DiscoveredHarness,
  DiscoveryContext,
  HarnessAdapter,
} from "../../src/harness/contract.ts";
import { HarnessRegistry } from "../../src/harness/registry.ts";
import { spawnChild } from "../../src/harness/supervised_child.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { lives, QUICK_GRACE } from "../harness/harness_fixture.ts";
import { RecordingLog } from "../support/recording_log.ts";
import { scriptedDeclaration } from "../support/scripted_harness/declaration.ts";
import { settleEvents, VirtualClock } from "../support/virtual_clock.ts";
import { outsideDouble } from "./outside_double.ts";

const KIND = "replaceable";

/** A real program that says its version and echoes lines, and the adapter that finds it. */
class ReplaceableProgram implements HarnessAdapter {
  readonly kind = KIND;
  readonly children: Child[] = [];
  discoveries = 0;
  readonly #path: string;

  constructor(readonly directory: string) {
    this.#path = join(directory, "program");
  }

  /** Takes the place of the present one, as an upgrade does. */
  async install(version: string): Promise<void> {
    const next = join(this.directory, "next");
    const greeting = `echo '{"version":"${version}"}'`;
    const script = `#!/bin/sh\n# ${version}\n${greeting}\nexec cat\n`;
    await Deno.writeTextFile(next, script, { mode: 0o755 });
    await Deno.rename(next, this.#path);
  }

  async remove(): Promise<void> {
    await Deno.remove(this.#path);
  }

  async discover(context: DiscoveryContext): Promise<DiscoveredHarness> {
    this.discoveries += 1;
    const { bound, spawn } = context;
    const declaration = scriptedDeclaration({ bound, asks: false });
    const found = { kind: KIND, program: this.#path, declaration };
    const script = await Deno.readTextFile(this.#path).catch(() => undefined);
    const version = script?.match(/^# (.*)$/m)?.[1];
    if (version === undefined) {
      return { ...found, available: false, reason: "missing" };
    }
    return {
      ...found,
      available: true,
      version,
      factory: {
        checkConfiguration: () => undefined,
        checkInput: () => undefined,
        prepare: async () => {
          const child = await spawn({
            program: this.#path,
            arguments: [],
            workingDirectory: this.directory,
            environment: { PATH: "/usr/bin:/bin" },
            name: KIND,
            clock: systemClock,
            log: context.log,
            closeGrace: QUICK_GRACE,
            maximumLineBytes: 1024,
          });
          this.children.push(child);
          return {
            retired: new Promise(() => {}),
            startTurn: () => Promise.resolve({ error: new Error("no Turns") }),
            close: () => child.close(),
          };
        },
      },
    };
  }
}

interface World {
  readonly program: ReplaceableProgram;
  readonly registry: HarnessRegistry;
  readonly log: RecordingLog;
  /** The version in a heartbeat; `undefined` while the kind is unavailable. */
  advertised(): string | undefined;
  /** Starts the program for a new Executor. */
  prepare(): Promise<{ child: Child; messages: AsyncIterator<unknown> }>;
  /** A minute passes, and the look that it brings. */
  minute(): Promise<void>;
}

async function inWorld(body: (world: World) => Promise<void>): Promise<void> {
  const program = new ReplaceableProgram(await Deno.makeTempDir());
  const clock = new VirtualClock();
  const registry = new HarnessRegistry();
  const options = await discoveryOptions(program, clock);
  await program.install("1.0.0");
  const found = await discoverHarnesses(options);
  const watch = watchHarnesses(found, registry, options);
  try {
    await body({
      program,
      registry,
      log: options.log,
      advertised() {
        const [kind] = registry.supportedAgentKinds();
        return kind?.available ? kind.version : undefined;
      },
      async prepare() {
        const factory = registry.get(KIND)?.factory;
        assert(factory);
        await factory.prepare(
          {} as Parameters<typeof factory.prepare>[0],
          new AbortController().signal,
        );
        const child = program.children.at(-1);
        assert(child);
        return { child, messages: child.messages[Symbol.asyncIterator]() };
      },
      async minute() {
        await clock.advance(60_000);
        // The next look is scheduled when this one is over.
        while (clock.pendingTimers === 0) await settleEvents();
      },
    });
  } finally {
    watch.stop();
    for (const child of program.children) await child.close();
    await Deno.remove(program.directory, { recursive: true });
  }
  assertEquals(clock.pendingTimers, 0);
}

async function discoveryOptions(
  program: ReplaceableProgram,
  clock: VirtualClock,
): Promise<HarnessDiscoveryOptions & { readonly log: RecordingLog }> {
  const parsed = parseArguments([]);
  assert(parsed.kind === "command");
  const outside = outsideDouble({
    clock,
    environment: { AGENT_DAEMON_STATE_DIR: program.directory },
  });
  return {
    adapters: [program],
    settings: await resolveSettings(parsed.invocation, outside),
    outside,
    log: new RecordingLog(),
    bound: false,
    spawn: spawnChild,
  };
}

Deno.test("a replaced program is advertised and used for the next Executor, the idle one keeps its own", () =>
  inWorld(async ({ program, advertised, prepare, minute }) => {
    const old = await prepare();
    assertEquals((await old.messages.next()).value, { version: "1.0.0" });
    await program.install("2.0.0");
    await minute();
    assertEquals([advertised(), program.discoveries], ["2.0.0", 2]);
    const next = await prepare();
    assertEquals((await next.messages.next()).value, { version: "2.0.0" });
    assert(await lives(old.child.pid));
    await old.child.write({ still: "here" });
    assertEquals((await old.messages.next()).value, { still: "here" });
  }));

Deno.test("a program that stays as it is gets no second probe", () =>
  inWorld(async ({ program, advertised, minute }) => {
    for (let count = 0; count < 3; count++) await minute();
    assertEquals([advertised(), program.discoveries], ["1.0.0", 1]);
  }));

Deno.test("a removed program is not advertised, and comes back when it is installed", () =>
  inWorld(async ({ program, registry, advertised, minute, log }) => {
    await program.remove();
    await minute();
    assertEquals(advertised(), undefined);
    assertEquals(registry.get(KIND)?.factory, undefined);
    await minute();
    await program.install("1.0.1");
    await minute();
    assertEquals(advertised(), "1.0.1");
    const found = log.events.filter(({ event }) => event === "harness_found");
    assertEquals(found.map(({ fields }) => fields.available), [
      true,
      false,
      true,
    ]);
  }));
