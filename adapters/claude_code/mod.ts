/** The Claude Code Harness, whole. */
export { claudeCodeAdapter } from "./adapter.ts";
export {
  CLAUDE_DECLARATION,
  CLAUDE_VERSIONS,
  type DeclaredField,
} from "./declaration.ts";
export { CLAUDE_KIND } from "./kind.ts";
