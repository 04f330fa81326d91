/**
 * The Harness kinds this daemon serves. Owns the newest discovery of each kind; an owner that was
 * admitted keeps the entry it was admitted with, whatever is discovered later.
 */
import type { DiscoveredHarness } from "./contract.ts";
import {
  encodeDeclaration,
  validateDeclaration,
} from "../protocol/capabilities.ts";
import type { SupportedAgentKind } from "../protocol/heartbeat.ts";

/** Harness kinds one daemon serves; far above any real number, for bounded heartbeats. */
const MOST_KINDS = 16;

/** A discovery that must not be served. The registry is unchanged. */
export class InvalidHarness extends Error {
  override readonly name = "InvalidHarness";
}

/** Kinds by wire identifier. */
export class HarnessRegistry {
  readonly #kinds = new Map<string, DiscoveredHarness>();

  /**
   * Adds a kind, or replaces what was known of it. Everything is checked first.
   *
   * @throws {InvalidHarness} for a blank kind, an undecided capability field, an available kind
   * without factory or an unavailable one with it, or one kind too many.
   */
  register(discovered: DiscoveredHarness): void {
    check(discovered);
    if (
      !this.#kinds.has(discovered.kind) && this.#kinds.size >= MOST_KINDS
    ) throw new InvalidHarness("Too many Harness kinds");
    this.#kinds.set(
      discovered.kind,
      Object.freeze({
        ...discovered,
        declaration: Object.freeze({ ...discovered.declaration }),
      }),
    );
  }

  /** Forgets a kind that the operator turned off. */
  remove(kind: string): void {
    this.#kinds.delete(kind);
  }

  /** The present entry of `kind`: frozen, so whoever keeps it keeps exactly what it was. */
  get(kind: string): DiscoveredHarness | undefined {
    return this.#kinds.get(kind);
  }

  /** All entries, sorted by kind. */
  list(): readonly DiscoveredHarness[] {
    return [...this.#kinds.values()].sort((one, other) =>
      one.kind < other.kind ? -1 : one.kind > other.kind ? 1 : 0
    );
  }

  /** What a heartbeat declares: every kind, unavailable ones too, without local reasons. */
  supportedAgentKinds(): SupportedAgentKind[] {
    return this.list().map(({ kind, available, version, declaration }) => ({
      kind,
      available,
      ...(version === undefined ? {} : { version }),
      capabilities: encodeDeclaration(declaration),
    }));
  }
}

function check(discovered: DiscoveredHarness): void {
  const { kind, available, declaration, factory } = discovered;
  if (kind.trim() === "" || kind !== kind.trim()) {
    throw new InvalidHarness("A Harness kind is blank or has blanks around it");
  }
  if (!validateDeclaration(declaration).ok) {
    throw new InvalidHarness(`${kind}: a capability field is undecided`);
  }
  if (available !== (factory !== undefined)) {
    throw new InvalidHarness(`${kind}: available and factory disagree`);
  }
}
