/**
 * A declaration as a table: for each capability when it holds, and the native test that would catch
 * the lie. Each adapter fills in its own table by hand; the capability page is made from them.
 */
import {
  CAPABILITY_NAMES,
  type CapabilityDeclaration,
  type CapabilityName,
} from "../protocol/capabilities.ts";

/** What a yes may depend on. */
export type Condition =
  | "bound"
  | "unbound"
  | "ask"
  | "not_windows"
  | "tested_version";

/** One field of a declaration. */
export interface DeclaredField {
  /** Conditions that must all hold; an empty list is an unconditional yes, `never` a no. */
  readonly supported: "never" | readonly Condition[];
  /** The exact name of the native test that proves a yes. */
  readonly provenBy?: string;
  /** Why a `never` is one, or what else a yes rests on. */
  readonly reason?: string;
}

/** A table: every capability is decided. */
export type DeclaredFields = Readonly<Record<CapabilityName, DeclaredField>>;

/** The situation a declaration is made for. */
export interface DeclarationSituation {
  readonly bound: boolean;
  readonly permissions: "unattended" | "ask";
  readonly operatingSystem: "linux" | "darwin" | "windows";
  readonly version: "tested" | "untested";
}

/** The declaration that a table makes in a situation. */
export function declare(
  fields: DeclaredFields,
  situation: DeclarationSituation,
): CapabilityDeclaration {
  const holds: Readonly<Record<Condition, boolean>> = {
    bound: situation.bound,
    unbound: !situation.bound,
    ask: situation.permissions === "ask",
    not_windows: situation.operatingSystem !== "windows",
    tested_version: situation.version === "tested",
  };
  const decide = (name: CapabilityName) => {
    const { supported } = fields[name];
    return supported !== "never" && supported.every((each) => holds[each])
      ? "supported"
      : "unsupported";
  };
  return Object.fromEntries(
    CAPABILITY_NAMES.map((name) => [name, decide(name)]),
  ) as CapabilityDeclaration;
}
