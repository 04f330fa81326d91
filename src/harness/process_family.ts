/**
 * A process and what it started, as far as that can be proven: descendants by parent chain, and
 * the groups and sessions that members opened. Never holds or signals a process that only got the
 * pid of one of them later.
 */
import type {
  ProcessEntry,
  ProcessIdentity,
  ProcessTable,
} from "./process_table.ts";

/** Looks for what unfrozen members started meanwhile: chains of starts are shorter than this. */
const FREEZING_ROUNDS = 16;

/** The members of one family. A member is known from the first look that saw it. */
export class ProcessFamily {
  readonly #table: ProcessTable;
  /** Every member ever seen, by pid. */
  readonly #members = new Map<number, ProcessIdentity>();
  /**
   * Groups and sessions opened by a member, by number. The system gives a number to no other
   * process while its group has a member; one that was seen empty is forgotten, for it can come
   * back as a stranger's.
   */
  readonly #groups = new Map<number, ProcessIdentity>();

  /**
   * @param members identities known to be ours.
   * @param openedGroup the group that was just opened with the first of them, if it was.
   */
  constructor(
    table: ProcessTable,
    members: readonly ProcessIdentity[],
    openedGroup?: ProcessIdentity,
  ) {
    this.#table = table;
    for (const member of members) this.#members.set(member.pid, member);
    if (openedGroup) this.#groups.set(openedGroup.pid, openedGroup);
  }

  /** Every member seen so far, living or not. */
  get known(): readonly ProcessIdentity[] {
    return [...this.#members.values()];
  }

  /**
   * Looks at the processes of the machine, adds what belongs to the family and returns its living
   * members. Must run while parents live: a descendant whose parents died unseen, and which left
   * group and session, can no longer be told from a stranger.
   */
  async collect(): Promise<readonly ProcessEntry[]> {
    const entries = await this.#table.list();
    this.#forgetEmptyGroups(entries);
    const living = new Map<number, ProcessEntry>();
    for (const entry of entries) {
      const member = this.#members.get(entry.pid);
      if (member?.startTime === entry.startTime) this.#admit(entry, living);
    }
    for (let grown = true; grown;) {
      grown = false;
      for (const entry of entries) {
        if (living.has(entry.pid) || !this.#belongs(entry, entries, living)) {
          continue;
        }
        this.#admit(entry, living);
        grown = true;
      }
    }
    return [...living.values()];
  }

  /** SIGTERM to the group `leader` opened, while a member lives in it. */
  async terminateGroup(leader: number): Promise<void> {
    const living = await this.collect();
    if (living.some((member) => member.group === leader)) {
      await this.#table.signalGroup(leader, "SIGTERM");
    }
  }

  /**
   * SIGKILL to the group `leader` opened, if a member lives in it, and to each living member. All
   * are frozen first: one that still runs could start another, in a session of its own, between
   * the look and the signal, and its death would cut the parent chain to it.
   */
  async kill(leader: number): Promise<void> {
    const living = await this.#freeze();
    if (living.some((member) => member.group === leader)) {
      await this.#table.signalGroup(leader, "SIGKILL");
    }
    for (const member of living) {
      await this.#table.signal(member.pid, "SIGKILL");
    }
  }

  /** Stops the living members until a look finds no new one; returns all of them. */
  async #freeze(): Promise<readonly ProcessEntry[]> {
    const frozen = new Set<number>();
    let living = await this.collect();
    for (let round = 0; round < FREEZING_ROUNDS; round++) {
      const running = living.filter(({ pid }) => !frozen.has(pid));
      if (running.length === 0) break;
      for (const { pid } of running) {
        await this.#table.signal(pid, "SIGSTOP");
        frozen.add(pid);
      }
      living = await this.collect();
    }
    return living;
  }

  #admit(entry: ProcessEntry, living: Map<number, ProcessEntry>): void {
    const { pid, startTime } = entry;
    living.set(pid, entry);
    this.#members.set(pid, { pid, startTime });
    if (entry.group === pid || entry.session === pid) {
      this.#groups.set(pid, { pid, startTime });
    }
  }

  #belongs(
    entry: ProcessEntry,
    entries: readonly ProcessEntry[],
    living: ReadonlyMap<number, ProcessEntry>,
  ): boolean {
    const parent = living.get(entry.parentPid);
    // A child is never older than its parent; Windows keeps the pid of a dead parent.
    if (parent && entry.startTime >= parent.startTime) return true;
    const opener = this.#groups.get(entry.group) ??
      this.#groups.get(entry.session ?? -1);
    if (!opener || entry.startTime < opener.startTime) return false;
    const holder = entries.find((other) => other.pid === opener.pid);
    return !holder || holder.startTime === opener.startTime;
  }

  #forgetEmptyGroups(entries: readonly ProcessEntry[]): void {
    for (const number of this.#groups.keys()) {
      const used = entries.some((entry) =>
        entry.group === number || entry.session === number
      );
      if (!used) this.#groups.delete(number);
    }
  }
}
