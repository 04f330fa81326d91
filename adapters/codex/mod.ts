/** The Codex Harness, whole. */
export { codexAdapter, createCodexAdapter } from "./adapter.ts";
export { CODEX_DECLARATION, CODEX_VERSIONS } from "./declaration.ts";
export { CODEX_LIMITS, type CodexLimits } from "./limits.ts";
