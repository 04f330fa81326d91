/**
 * Owns what a device declared in its last heartbeat. A missing kind is undeclared, and nothing is
 * known before the first heartbeat or after an invalid one.
 */
import {
  type CapabilityDeclaration,
  decodeCapabilities,
} from "../protocol/capabilities.ts";
import type { Heartbeat } from "../protocol/heartbeat.ts";
import type { Configuration } from "../protocol/configuration.ts";
import { missingCapabilities } from "./admission_rules.ts";
import { CoreRuleBroken, ProtocolViolation } from "./observation.ts";

/** One declared kind. */
export interface DeclaredKind {
  readonly kind: string;
  readonly available: boolean;
  readonly version?: string;
  readonly declaration: CapabilityDeclaration;
}

/** The declaration snapshot of one connection. */
export class Declarations {
  #kinds: ReadonlyMap<string, DeclaredKind> | undefined;

  /** Whether a valid heartbeat has arrived. */
  get known(): boolean {
    return this.#kinds !== undefined;
  }

  /** Every kind of the last heartbeat, in its order. */
  get kinds(): readonly DeclaredKind[] {
    return [...this.#kinds?.values() ?? []];
  }

  /** Takes a heartbeat; it replaces the former one completely. */
  replace(heartbeat: Heartbeat): void {
    const kinds = new Map<string, DeclaredKind>();
    for (
      const { kind, available, version, capabilities }
        of heartbeat.supported_agent_kinds ?? []
    ) {
      const declaration = decodeCapabilities(capabilities);
      if (!declaration.ok || kinds.has(kind)) {
        throw new ProtocolViolation("heartbeat", "no complete declaration");
      }
      kinds.set(kind, {
        kind,
        available,
        ...(version ? { version } : {}),
        declaration: declaration.value,
      });
    }
    this.#kinds = kinds;
  }

  /** Forgets everything. */
  clear(): void {
    this.#kinds = undefined;
  }

  /**
   * The declaration that a configuration may rely on.
   *
   * @throws {CoreRuleBroken} unless the kind is declared, available and supports what is asked.
   */
  admit(configuration: Configuration): CapabilityDeclaration {
    if (!this.#kinds) throw new CoreRuleBroken("no capability is known yet");
    const declared = this.#kinds.get(configuration.agent_kind);
    if (!declared) throw new CoreRuleBroken("the kind is not declared");
    if (!declared.available) {
      throw new CoreRuleBroken("the kind is unavailable");
    }
    const missing = missingCapabilities(configuration, declared.declaration);
    if (missing.length > 0) {
      throw new CoreRuleBroken(`not declared: ${missing.join(", ")}`);
    }
    return declared.declaration;
  }
}
