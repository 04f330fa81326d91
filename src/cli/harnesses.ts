/** The Harnesses of this build: one line each. */
import type { HarnessAdapter } from "../harness/contract.ts";
import { claudeCodeAdapter } from "../../adapters/claude_code/adapter.ts";
import { codexAdapter } from "../../adapters/codex/adapter.ts";

/** All adapters, in the order of lists. */
export const ADAPTERS: readonly HarnessAdapter[] = [
  codexAdapter,
  claudeCodeAdapter,
];
