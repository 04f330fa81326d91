/**
 * Verifies a prepared program by its own account of its context, which it gives before any input
 * and without asking the provider.
 */
import * as z from "zod";
import type { PreparedConfiguration } from "../../src/harness/contract.ts";
import type { ToolInventory } from "./tool_inventory.ts";

/** The program's context is not the configured one. */
export class ContextMismatch extends Error {
  override readonly name = "ContextMismatch";
}

const contextUsage = z.object({
  categories: z.array(z.object({ id: z.string().optional() })),
  rawMaxTokens: z.number(),
});

/** Rows of the context report that stand for tools of the program itself. */
const SYSTEM_TOOLS: ReadonlySet<string> = new Set([
  "system_tools",
  "system_tools_deferred",
]);

/**
 * Judges the report against a configuration: without configured built-in tools it must hold none,
 * with some it must hold some, and the program must not fill more than the provider's window.
 *
 * @throws {ContextMismatch}
 */
export function verifyContext(
  inventory: ToolInventory,
  configuration: PreparedConfiguration,
  report: unknown,
): void {
  const read = contextUsage.safeParse(report);
  if (!read.success) throw new ContextMismatch("The context has no report");
  const window = configuration.modelProvider?.context_window ?? 0;
  if (window > 0 && read.data.rawMaxTokens > window) {
    throw new ContextMismatch("The program uses a larger context window");
  }
  const present = read.data.categories.some(({ id }) =>
    id !== undefined && SYSTEM_TOOLS.has(id)
  );
  const structured = configuration.executionControls?.output_format;
  const wanted = inventory.builtIn.length > 0 || structured !== undefined;
  if (present && !wanted) {
    throw new ContextMismatch("The program has tools of its own");
  }
  if (!present && inventory.builtIn.length > 0) {
    throw new ContextMismatch("The program lacks its tools");
  }
}
