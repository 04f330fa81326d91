/**
 * `try`: one Turn on this machine through the complete path, with a Core inside the process. The
 * answer goes to stdout; everything about it goes to stderr.
 */
import { join } from "@std/path";
import type { HarnessAdapter } from "../harness/contract.ts";
import { sessionConfiguration } from "../loopback/admission_rules.ts";
import type { ObservedRun } from "../loopback/observed_run.ts";
import type { Preparation } from "../loopback/preparation.ts";
import type { RunEvent } from "../loopback/run_events.ts";
import { silentLog } from "../platform/log.ts";
import { openLog } from "../platform/log_sinks.ts";
import { createRedactor, escapeControls } from "../platform/redaction.ts";
import { PROGRAM } from "./build.ts";
import type { Invocation } from "./command.ts";
import { demoProgram } from "./demo_program.ts";
import { DemoProvider } from "./demo_provider.ts";
import { EXIT_CODES } from "./exit_codes.ts";
import { ADAPTERS } from "./harnesses.ts";
import type { BoundWorkspace } from "./identity.ts";
import {
  HarnessUnavailable,
  type LoopbackRig,
  openLoopbackRig,
} from "./loopback_rig.ts";
import { Mistake } from "./mistake.ts";
import type { Outside } from "./outside.ts";
import { resolveSettings, type Settings } from "./settings.ts";
import { listenForStops } from "./stop_signals.ts";
import { WorkspaceRound } from "./try_workspace.ts";
import * as report from "./turn_report.ts";
import { checkWorkspace } from "./workspace_choice.ts";

/** What `try` was asked for. */
export interface TryOptions {
  readonly adapter: HarnessAdapter;
  readonly program?: string;
  readonly prompt: string;
  /** Uses the provider on loopback. */
  readonly demo: boolean;
  readonly trace: boolean;
  readonly model?: string;
  /** Absent: the Turn has no Environment. */
  readonly workspace?: BoundWorkspace;
  /** An existing 0700 directory; a folder inside it is made and removed. */
  readonly stateDirectory: string;
}

/** The command. */
export async function tryCommand(
  invocation: Invocation,
  outside: Outside,
): Promise<number> {
  const settings = await resolveSettings(invocation, outside);
  const { options, operands } = invocation;
  const kind = options.get("harness") === "claude" ? "claude_sdk" : "codex";
  const adapter = ADAPTERS.find((each) => each.kind === kind);
  if (!adapter) {
    throw new Mistake({
      place: "--harness",
      rule: "this build has no such Harness",
      fix: "see agent-daemon harness list",
      exit: "configuration",
    });
  }
  const workspace = await bindWorkspace(settings, outside);
  const program = kind === "codex"
    ? settings.values.codexProgram
    : settings.values.claudeProgram;
  const model = options.get("model");
  return await runTry({
    adapter,
    ...(program === undefined || program === "off" ? {} : { program }),
    prompt: operands[0] ?? "",
    demo: options.has("demo"),
    trace: options.has("trace"),
    ...(model === undefined ? {} : { model }),
    ...(workspace === undefined ? {} : { workspace }),
    stateDirectory: settings.stateDirectory,
  }, outside);
}

/** The workspace of `--workspace`, bound for the life of this Turn. */
async function bindWorkspace(
  settings: Settings,
  outside: Outside,
): Promise<BoundWorkspace | undefined> {
  const { workspace } = settings.values;
  if (workspace === undefined) return undefined;
  const root = await checkWorkspace(
    workspace,
    { own: [settings.stateDirectory, settings.directories.configuration] },
    outside,
  );
  return {
    environmentId: outside.ids.uuid(),
    sessionId: outside.ids.uuid(),
    root,
  };
}

/** Runs one Turn. Resolves to the exit code; nothing native is left then. */
export async function runTry(
  options: TryOptions,
  outside: Outside,
): Promise<number> {
  if (outside.userId === 0) {
    outside.stderr.write(
      `${PROGRAM}: running as root; tools run as root too\n`,
    );
  }
  if (options.prompt === "") {
    throw new Mistake({
      place: "PROMPT",
      rule: "must not be empty",
      fix: 'for example: agent-daemon try "say hello"',
      exit: "usage",
    });
  }
  const folder = join(options.stateDirectory, `try-${outside.ids.hex(8)}`);
  await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
  try {
    return await tryIn(folder, options, outside);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function tryIn(
  folder: string,
  options: TryOptions,
  outside: Outside,
): Promise<number> {
  await using provider = options.demo
    ? DemoProvider.start(
      options.adapter.kind === "codex" ? "codex" : "claude_sdk",
    )
    : undefined;
  const rig = await open(folder, options, outside);
  try {
    return await turn(rig, options, outside, provider);
  } finally {
    await rig.close();
  }
}

async function open(
  folder: string,
  options: TryOptions,
  outside: Outside,
): Promise<LoopbackRig> {
  const log = openLog({
    level: options.trace ? "info" : "error",
    format: "text",
    redactor: createRedactor(),
    clock: outside.clock,
    write: (line) => outside.stderr.write(line),
  });
  try {
    return await openLoopbackRig({
      adapter: options.adapter,
      ...(options.program === undefined ? {} : { program: options.program }),
      outside,
      log,
      stateDirectory: folder,
      ...(options.workspace ? { bound: options.workspace } : {}),
      ...(options.trace
        ? {
          trace: (line) => outside.stderr.write(report.describeTraceLine(line)),
        }
        : {}),
    });
  } catch (error) {
    if (!(error instanceof HarnessUnavailable)) throw error;
    if (options.demo && options.program === undefined) {
      const { adapter, stateDirectory } = options;
      const program = await demoProgram(adapter.kind, stateDirectory, outside);
      return await open(folder, { ...options, program }, outside);
    }
    throw new Mistake({
      place: options.adapter.kind,
      rule: error.message,
      fix: "install it, or name its program; see agent-daemon harness list",
      exit: "configuration",
    });
  }
}

async function turn(
  rig: LoopbackRig,
  options: TryOptions,
  outside: Outside,
  provider: DemoProvider | undefined,
): Promise<number> {
  const stops = listenForStops({
    log: silentLog,
    operatingSystem: outside.operatingSystem,
    onForced: (code) =>
      void rig.children.killAll(outside.clock).then(() => Deno.exit(code)),
  });
  const work = options.workspace && new WorkspaceRound({
    session: rig.session,
    agentKind: options.adapter.kind,
    bound: options.workspace,
    outside,
  });
  try {
    if (work && !await work.place(options.prompt)) {
      return EXIT_CODES.negative.code;
    }
    if (work) provider?.workNext(work.command);
    const preparation = prepare(rig, options, outside, provider);
    const ready = await preparation.ready;
    if (ready.kind !== "ready") {
      outside.stderr.write(`${PROGRAM}: ${report.describeRefusal(ready)}\n`);
      return EXIT_CODES.negative.code;
    }
    if (stops.stop.aborted) return EXIT_CODES.negative.code;
    const run = rig.session.start(preparation, {
      input: [{
        content: [{
          type: "input_text",
          text: work ? work.prompt : options.prompt,
        }],
      }],
    });
    stops.stop.addEventListener("abort", () => {
      // The receipt owns the outcome from here on; the wait below reads it.
      void rig.session.cancel(run.runId);
    });
    await show(run, outside);
    const outcome = await run.outcome;
    outside.stderr.write(`${PROGRAM}: ${report.describeOutcome(outcome)}\n`);
    const shown = work === undefined || await work.show();
    return outcome.kind === "completed" && shown
      ? EXIT_CODES.ok.code
      : EXIT_CODES.negative.code;
  } finally {
    stops.forget();
  }
}

function prepare(
  { session, declaration }: LoopbackRig,
  options: TryOptions,
  outside: Outside,
  provider: DemoProvider | undefined,
): Preparation {
  const bound = options.workspace;
  const sessionId = bound?.sessionId ?? outside.ids.uuid();
  const agentOptions = provider?.agentOptions(options.model) ??
    (options.model === undefined ? undefined : { model: options.model });
  const localEnvironment = bound && {
    id: bound.environmentId,
    workspace_directory: bound.root,
    capability_sources: null,
  };
  return session.prepare({
    sessionId,
    configuration: sessionConfiguration({
      agentKind: options.adapter.kind,
      sessionId,
      ...(agentOptions ? { agentOptions } : {}),
      ...(localEnvironment ? { localEnvironment } : {}),
    }, declaration),
  });
}

/** Streams the answer. A lost observation ends it; the outcome says so. */
async function show(run: ObservedRun, outside: Outside): Promise<void> {
  let open = false;
  try {
    for await (const event of run) {
      if (event.type === "delta") {
        outside.stdout.write(event.payload.delta);
        open = !event.payload.delta.endsWith("\n");
      } else {
        const line = note(event);
        if (line) outside.stderr.write(`${PROGRAM}: ${line}\n`);
      }
    }
  } catch (error) {
    outside.stderr.write(`${PROGRAM}: ${(error as Error).message}\n`);
  }
  if (open) outside.stdout.write("\n");
}

function note(event: RunEvent): string | undefined {
  switch (event.type) {
    case "tool_call":
      return event.payload.stage === "before"
        ? `tool ${escapeControls(event.payload.name)}`
        : undefined;
    case "error":
      return `error: ${escapeControls(event.payload.error).slice(0, 1024)}`;
    default:
      return undefined;
  }
}
