/**
 * The workspace part of `try`: Core writes a file, the Turn is asked to read it, and afterwards Core
 * lists, reads and exports. Each receipt is one line, so that it can be seen what was proven.
 */
import type { DeviceSession } from "../loopback/device_session.ts";
import type { TransferOutcome } from "../loopback/transfers.ts";
import { type Lent, WorkspaceClient } from "../loopback/workspace_client.ts";
import { escapeControls } from "../platform/redaction.ts";
import type { Directory } from "../protocol/workspace_read.ts";
import { PROGRAM } from "./build.ts";
import type { BoundWorkspace } from "./identity.ts";
import type { Outside } from "./outside.ts";

/** Bytes and entries that the reads of `try` ask for. */
const READ_BYTES = 64 * 1024;
const LISTED_ENTRIES = 100;

/** What a round is made of. */
export interface WorkspaceRoundParts {
  readonly session: DeviceSession;
  readonly agentKind: string;
  readonly bound: BoundWorkspace;
  readonly outside: Outside;
}

/** One round of Core through the workspace. */
export class WorkspaceRound {
  /** The file that Core writes; it stays in the workspace. */
  readonly file: string;
  readonly #client: WorkspaceClient;
  readonly #outside: Outside;

  constructor({ session, agentKind, bound, outside }: WorkspaceRoundParts) {
    this.file = `agent-daemon-try-${outside.ids.hex(4)}.txt`;
    this.#client = new WorkspaceClient(
      session,
      { agentKind, ...bound },
      outside.ids,
    );
    this.#outside = outside;
  }

  /** What the Turn is asked: the user's prompt itself stands in the file. */
  get prompt(): string {
    return `Read the file ${this.file} in your working directory and do what it says. Put results into the directory outputs.`;
  }

  /** A shell command that does so without a model, for the demo. */
  get command(): string {
    return `mkdir -p outputs && cat ${this.file} && cp ${this.file} outputs/`;
  }

  /** Lets Core write the prompt. False when the file was not confirmed. */
  async place(prompt: string): Promise<boolean> {
    const name = `write ${this.file}`;
    const body = new TextEncoder().encode(prompt);
    const outcome = await this.#client.write(
      this.file,
      body,
      (step) => this.#report(`${name}: ${step}`),
    );
    if (outcome.kind === "completed") return true;
    this.#report(`${name}: ${transferWords(outcome)}`);
    return false;
  }

  /** Lists, reads and exports. False when one of it was not confirmed. */
  async show(): Promise<boolean> {
    const list = await this.#client.list("", LISTED_ENTRIES);
    this.#report(`list: ${lentWords(list, namesOf)}`);
    const read = await this.#client.read(this.file, READ_BYTES);
    this.#report(`read ${this.file}: ${lentWords(read, sizeOf)}`);
    const archive = await this.#client.exportOutputs((step) =>
      this.#report(`export: ${step}`)
    );
    const words = lentWords(
      archive,
      (data) => `a tar archive of ${data.length} bytes`,
    );
    this.#report(`export: ${words}`);
    return [list, read, archive].every(({ kind }) => kind === "data");
  }

  #report(line: string): void {
    this.#outside.stderr.write(`${PROGRAM}: ${line}\n`);
  }
}

function namesOf({ entries, truncated }: Directory): string {
  const names = entries.map(({ name }) => escapeControls(name)).join(", ");
  return truncated ? `${names}, …` : names;
}

function sizeOf(
  { data, truncated }: {
    readonly data: Uint8Array;
    readonly truncated: boolean;
  },
): string {
  return `${data.length} bytes${truncated ? ", more exist" : ""}`;
}

function lentWords<T>(lent: Lent<T>, words: (value: T) => string): string {
  switch (lent.kind) {
    case "data":
      return `${words(lent.value)} (released)`;
    case "refused":
      return `refused: ${lent.code}`;
    case "unavailable":
      return `unknown: ${lent.why}`;
  }
}

function transferWords(
  outcome: Exclude<TransferOutcome, { kind: "completed" }>,
): string {
  switch (outcome.kind) {
    case "rejected":
      return `rejected: ${outcome.reason ?? outcome.code}`;
    case "failed":
      return "failed";
    case "unknown":
      return `unknown: ${outcome.why}`;
  }
}
