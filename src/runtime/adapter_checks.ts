// Owns the calls of an adapter's pure checks: one that throws is a bug of the adapter, logged with its
// stack, and refuses what it was asked about. Also the capability that images need.
import type { Refusal } from "../harness/contract.ts";
import type { Log } from "../platform/log.ts";
import { hasImages, type MessageInput } from "../protocol/message_input.ts";
import type { ExecutorIdentity } from "./executor.ts";

/** Runs a check of an adapter; never throws. */
export function guarded(
  log: Log,
  check: () => Refusal | undefined,
): Refusal | undefined {
  try {
    return check();
  } catch (error) {
    log.error("adapter check failed", {
      error: error instanceof Error ? error : undefined,
    });
    return { reason: "the adapter's own check failed" };
  }
}

/** Why an input is not for this Executor; asked before anything changes. */
export function inputRefusal(
  log: Log,
  identity: ExecutorIdentity,
  input: MessageInput,
): Refusal | undefined {
  const { declaration, factory, configuration } = identity;
  if (declaration.message_images !== "supported" && hasImages(input)) {
    return { reason: "message images are not declared" };
  }
  return guarded(log, () => factory.checkInput(configuration, input));
}
