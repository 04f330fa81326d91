/** Asks the program for its own model catalogue, offline, in a process of its own. */
import type { Child } from "../../src/harness/child.ts";
import { PreparationFailed } from "../../src/harness/contract.ts";
import { within } from "../../src/platform/clock.ts";
import type { PreparationContext } from "./prepare.ts";
import { remains } from "./remains.ts";

/** The catalogue of the measured version has 0.9 MB. */
const CATALOGUE_BYTES = 16 * 1024 * 1024;

/**
 * The catalogue as the program prints it.
 *
 * @throws {PreparationFailed} with what must still be closed when its process could not be ended.
 * @throws anything else when it prints none in time; nothing is left then.
 */
export async function readCatalogue(
  context: PreparationContext,
  workingDirectory: string,
  environment: Readonly<Record<string, string>>,
): Promise<unknown> {
  const child = await context.spawn({
    program: context.program,
    arguments: [...context.leadingArguments, "debug", "models", "--bundled"],
    workingDirectory,
    environment,
    name: "codex debug models",
    clock: context.clock,
    log: context.log,
    closeGrace: context.limits.closeGrace,
    maximumLineBytes: CATALOGUE_BYTES,
  });
  try {
    return await within(
      context.clock,
      context.limits.request,
      "model catalogue",
      firstMessage(child),
    );
  } finally {
    await end(child);
  }
}

async function end(child: Child): Promise<void> {
  try {
    await child.close();
  } catch (cause) {
    throw new PreparationFailed(
      "codex: the program of the model catalogue may still live",
      remains(() => child.close()),
      { cause },
    );
  }
}

async function firstMessage(child: Child): Promise<unknown> {
  for await (const message of child.messages) return message;
  throw new Error("codex: the model catalogue is unusable");
}
