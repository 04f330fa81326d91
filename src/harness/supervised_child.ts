/**
 * A native process under supervision: alone in its session, its three pipes owned, ended step by
 * step and only called gone when no process of it lives. The one place that starts processes.
 */
import {
  type Child,
  type ChildExit,
  type ChildOptions,
  CloseUnconfirmed,
  type SpawnChild,
} from "./child.ts";
import { ChildInput } from "./child_input.ts";
import { ChildOutput } from "./child_output.ts";
import { ErrorTail } from "./child_errors.ts";
import { JsonLineReader, TextLineReader } from "./json_lines.ts";
import { ProcessFamily } from "./process_family.ts";
import {
  type ProcessIdentity,
  type ProcessTable,
  processTable,
} from "./process_table.ts";
import { noSpawnRecords, type SpawnRecords } from "./spawn_records.ts";
import { sleep } from "../platform/clock.ts";

/** Pauses between two looks at processes that should be ending, in milliseconds: first and most. */
const FIRST_LOOK = 10;
const LONGEST_PAUSE = 250;
/** How long a reader may take for output that was written before a confirmed end. */
const LAST_OUTPUT = 1_000;

/** What a spawn function is made of. */
export interface SpawnParts {
  readonly processes: ProcessTable;
  /** Told of every process, so that a later daemon can end what this one left. */
  readonly records: SpawnRecords;
}

/** Starts supervised processes of this machine, without records. */
export const spawnChild: SpawnChild = (
  options: ChildOptions,
): Promise<Child> =>
  supervisedSpawn({
    processes: processTable(Deno.build.os),
    records: noSpawnRecords,
  })(options);

/**
 * A {@linkcode SpawnChild} over `parts`. When the record of a process cannot be written, the
 * process is ended again and the spawn rejects: nothing runs that a later daemon cannot find.
 */
export function supervisedSpawn(parts: SpawnParts): SpawnChild {
  return async (options) => {
    const native = new Deno.Command(options.program, {
      args: [...options.arguments],
      cwd: options.workingDirectory,
      env: { ...options.environment },
      clearEnv: true,
      stdin: options.pipes === "none" ? "null" : "piped",
      stdout: options.pipes === "none" ? "null" : "piped",
      stderr: "piped",
      detached: true,
    }).spawn();
    const child = new SupervisedChild(native, options, parts);
    try {
      await child.identify();
      return child;
    } catch (error) {
      child.kill();
      await child.close();
      throw error;
    }
  };
}

class SupervisedChild implements Child {
  readonly pid: number;
  readonly messages: AsyncIterable<unknown>;
  readonly exited: Promise<ChildExit>;
  readonly #options: ChildOptions;
  readonly #parts: SpawnParts;
  readonly #native: Deno.ChildProcess;
  readonly #input: ChildInput;
  readonly #output: ChildOutput;
  readonly #errors: ErrorTail;
  readonly #errorReader: ReadableStreamDefaultReader<Uint8Array>;
  #family: ProcessFamily;
  #reaped = false;
  #confirmed = false;
  #closing: Promise<void> | undefined;

  constructor(
    native: Deno.ChildProcess,
    options: ChildOptions,
    parts: SpawnParts,
  ) {
    this.pid = native.pid;
    this.#native = native;
    this.#options = options;
    this.#parts = parts;
    const piped = options.pipes !== "none";
    this.#input = new ChildInput(piped ? native.stdin : closedInput());
    this.#output = new ChildOutput(
      piped ? native.stdout : emptyOutput(),
      options.stdout === "text"
        ? new TextLineReader(options.maximumLineBytes)
        : new JsonLineReader(options.maximumLineBytes),
      options.clock,
      options.log.with({ child: options.name, pid: native.pid }),
    );
    this.messages = this.#output.messages();
    this.#errors = new ErrorTail(options.secrets ?? []);
    this.#errorReader = native.stderr.getReader();
    // Until the process was identified its start time counts as unknown: nobody matches it.
    this.#family = this.#familyOf({ pid: native.pid, startTime: 0 });
    this.exited = this.#watchExit();
    this.#drainErrors();
  }

  /** Learns what tells this process from a later one with its pid, and records it. */
  async identify(): Promise<void> {
    const { processes, records } = this.#parts;
    const entries = await processes.list();
    const own = entries.find((entry) => entry.pid === this.pid);
    if (!own || this.#reaped) return; // it ended already; its group is still known by number
    const leader = { pid: own.pid, startTime: own.startTime };
    this.#family = this.#familyOf(leader);
    await records.spawned({
      leader,
      bootId: await processes.bootId(),
      name: this.#options.name,
      members: [],
    });
  }

  write(value: unknown, signal?: AbortSignal): Promise<void> {
    return this.#input.write(value, signal);
  }

  stderrTail(): string {
    return this.#errors.text();
  }

  close(): Promise<void> {
    if (this.#confirmed) return Promise.resolve();
    this.#closing ??= this.#end().finally(() => {
      this.#closing = undefined;
    });
    return this.#closing;
  }

  kill(): void {
    if (this.#confirmed) return;
    this.#kill().catch((error) => {
      this.#log("child.kill.failed", error);
      if (!this.#reaped) this.#native.kill("SIGKILL");
    });
  }

  #familyOf(leader: ProcessIdentity): ProcessFamily {
    return new ProcessFamily(this.#parts.processes, [leader], leader);
  }

  async #watchExit(): Promise<ChildExit> {
    const status = await this.#native.status;
    this.#reaped = true;
    this.#output.processExited();
    return {
      code: status.signal === null ? status.code : null,
      signal: status.signal,
    };
  }

  async #drainErrors(): Promise<void> {
    try {
      for (;;) {
        const { value } = await this.#errorReader.read();
        if (!value) return;
        this.#errors.push(value);
      }
    } catch (error) {
      this.#log("child.stderr.failed", error);
    }
  }

  async #kill(): Promise<void> {
    await this.#family.kill(this.pid);
    await this.#noteMembers();
  }

  /** End of input, SIGTERM, SIGKILL: after each, its grace for everything to be gone. */
  async #end(): Promise<void> {
    const grace = this.#options.closeGrace;
    await this.#attempt(() => this.#family.collect());
    this.#input.end();
    this.#output.drain();
    // Others that outlived the process do not listen to its stdin.
    const softGrace = this.#reaped ? 0 : grace.afterEndOfInput;
    if (await this.#gone(softGrace)) return await this.#confirm();
    await this.#attempt(() => this.#family.terminateGroup(this.pid));
    if (await this.#gone(grace.afterTerminate)) return await this.#confirm();
    await this.#attempt(() => this.#kill());
    if (await this.#gone(grace.afterKill)) return await this.#confirm();
    throw await this.#unconfirmed();
  }

  /** A step that fails does not keep the next, harder one from being tried. */
  async #attempt(step: () => Promise<unknown>): Promise<void> {
    try {
      await step();
    } catch (error) {
      this.#log("child.close.step_failed", error);
    }
  }

  /** Whether the process is reaped and nothing of its family lives, within `budget`. */
  async #gone(budget: number): Promise<boolean> {
    const { clock } = this.#options;
    const deadline = clock.monotonic() + budget;
    if (!await this.#reapedWithin(budget)) return false;
    for (let pause = FIRST_LOOK;; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
      if (await this.#familyIsEmpty()) return true;
      const left = deadline - clock.monotonic();
      if (left <= 0) return false;
      await sleep(clock, Math.min(pause, left));
    }
  }

  async #reapedWithin(budget: number): Promise<boolean> {
    if (this.#reaped) return true;
    const waited = new AbortController();
    await Promise.race([
      this.exited,
      sleep(this.#options.clock, budget, waited.signal).catch(() => {}),
    ]);
    waited.abort();
    return this.#reaped;
  }

  async #familyIsEmpty(): Promise<boolean> {
    try {
      return (await this.#family.collect()).length === 0;
    } catch (error) {
      this.#log("child.processes.unreadable", error);
      return false; // not seen is not gone
    }
  }

  async #confirm(): Promise<void> {
    if (this.#confirmed) return;
    // Escaped processes may hold the pipes for ever: output that is there gets a bounded time.
    const waited = new AbortController();
    await Promise.race([
      this.#output.ended,
      sleep(this.#options.clock, LAST_OUTPUT, waited.signal).catch(() => {}),
    ]);
    waited.abort();
    this.#output.cancel();
    this.#errorReader.cancel().catch(() => {}); // an ended stream has nothing to cancel
    this.#confirmed = true;
    await this.#attempt(() => this.#parts.records.gone(this.pid));
  }

  async #unconfirmed(): Promise<CloseUnconfirmed> {
    await this.#attempt(() => this.#noteMembers());
    const living = await this.#family.collect().catch(() => undefined);
    const pids = living?.map((entry) => entry.pid).join(", ") ||
      `${this.pid}, or what it started`;
    return new CloseUnconfirmed(
      `${this.#options.name}: may still live after SIGKILL: ${pids}`,
    );
  }

  /** Keeps what is known of the family for a later daemon, should this one die now. */
  async #noteMembers(): Promise<void> {
    await this.#parts.records.membersSeen(this.pid, this.#family.known);
  }

  #log(event: string, error: unknown): void {
    this.#options.log.warn(event, {
      child: this.#options.name,
      pid: this.pid,
      error: error instanceof Error ? error : String(error),
    });
  }
}

/** Takes nothing: what a process without stdin would. */
function closedInput(): WritableStream<Uint8Array> {
  return new WritableStream({
    start: (controller) => controller.error(new Error("there is no stdin")),
  });
}

/** Ends at once: what a process without stdout would. */
function emptyOutput(): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({ start: (controller) => controller.close() });
}
