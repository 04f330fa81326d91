import { assert, assertEquals, assertThrows } from "@std/assert";
import type {
  DiscoveredHarness,
  ExecutorFactory,
} from "../../src/harness/contract.ts";
import { HarnessRegistry, InvalidHarness } from "../../src/harness/registry.ts";
import { CAPABILITY_NAMES } from "../../src/protocol/capabilities.ts";
import { scriptedDeclaration } from "../support/scripted_harness/declaration.ts";

const factory: ExecutorFactory = {
  checkConfiguration: () => undefined,
  checkInput: () => undefined,
  prepare: () => Promise.reject(new Error("unused")),
};

function harness(changes: Partial<DiscoveredHarness> = {}): DiscoveredHarness {
  return {
    kind: "contract",
    available: true,
    version: "1.0.0",
    program: "/bin/contract",
    reason: "local-canary",
    declaration: scriptedDeclaration({ bound: false, asks: false }),
    factory,
    ...changes,
  };
}

function unavailable(kind: string): DiscoveredHarness {
  const { factory: _, ...rest } = harness({ kind, available: false });
  return rest;
}

Deno.test("A declaration with any field undecided, missing or surplus changes nothing", () => {
  const registry = new HarnessRegistry();
  registry.register(harness());
  const before = registry.list();
  const { declaration } = harness();
  const broken = CAPABILITY_NAMES.flatMap((name) => {
    const { [name]: _, ...missing } = declaration;
    return [
      { ...declaration, [name]: "unspecified" },
      missing,
    ] as DiscoveredHarness["declaration"][];
  });
  broken.push({ ...declaration, more: "supported" } as typeof declaration);
  for (const declaration of broken) {
    assertThrows(
      () => registry.register(harness({ declaration, version: "2.0.0" })),
      InvalidHarness,
    );
  }
  assertEquals(registry.list(), before);
});

Deno.test("A kind is named, and available exactly when it has a factory", () => {
  const registry = new HarnessRegistry();
  const { factory: _, ...withoutFactory } = harness();
  for (
    const entry of [
      harness({ kind: "" }),
      harness({ kind: " contract" }),
      harness({ available: false }),
      withoutFactory,
    ]
  ) assertThrows(() => registry.register(entry), InvalidHarness);
  assertEquals(registry.list(), []);
});

Deno.test("A heartbeat declares every kind sorted, unavailable ones completely, reasons never", () => {
  const registry = new HarnessRegistry();
  for (const kind of ["z", "a", "m"]) registry.register(unavailable(kind));
  registry.register(harness());
  const kinds = registry.supportedAgentKinds();
  assertEquals(kinds.map(({ kind }) => kind), ["a", "contract", "m", "z"]);
  assertEquals(kinds.map(({ available }) => available), [
    false,
    true,
    false,
    false,
  ]);
  for (const { capabilities } of kinds) {
    assertEquals(
      Object.keys(capabilities).toSorted(),
      [...CAPABILITY_NAMES].toSorted(),
    );
  }
  assert(!JSON.stringify(kinds).includes("canary"));
});

Deno.test("A later discovery never changes what an owner was admitted with", () => {
  const registry = new HarnessRegistry();
  const declaration = { ...harness().declaration };
  registry.register(harness({ declaration }));
  const admitted = registry.get("contract");
  declaration.tool_search = "supported";
  assertEquals(admitted?.declaration.tool_search, "unsupported");
  registry.register(harness({ declaration, version: "2.0.0" }));
  assertEquals(admitted?.declaration.tool_search, "unsupported");
  assertEquals(admitted?.version, "1.0.0");
  assertEquals(
    registry.get("contract")?.declaration.tool_search,
    "supported",
  );
  assertThrows(() => Object.assign(admitted ?? {}, { available: false }));
  assertThrows(() =>
    Object.assign(admitted?.declaration ?? {}, { steering: "unsupported" })
  );
});

Deno.test("A kind that was turned off is gone, and 16 kinds are the most", () => {
  const registry = new HarnessRegistry();
  for (let n = 0; n < 16; n++) registry.register(unavailable(`kind-${n}`));
  assertThrows(() => registry.register(harness()), InvalidHarness, "Too many");
  registry.register(unavailable("kind-3"));
  registry.remove("kind-3");
  registry.register(harness());
  assertEquals(registry.get("kind-3"), undefined);
  assertEquals(registry.list().length, 16);
});
