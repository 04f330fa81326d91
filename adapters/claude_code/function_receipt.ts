/**
 * Compares the program's tool result with the submitted function result. It proves that the program
 * took the result whole; whether the model reads all of it is beyond any receipt.
 */
import * as z from "zod";
import type { FunctionResult } from "../../src/protocol/functions.ts";

const block = z.union([
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({
    type: z.literal("image"),
    source: z.object({ type: z.literal("base64"), data: z.string().min(1) }),
  }),
]);

const nativeContent = z.union([
  z.string().transform((text) => [{ type: "text" as const, text }]),
  z.array(block),
]);

/**
 * Whether every submitted block appears in order. Two native additions are allowed: a text right
 * after an image, which names the program's own copy of it, and a placeholder for empty content.
 */
export function sameContent(
  submitted: FunctionResult,
  native: { readonly isError: boolean; readonly content: unknown },
): boolean {
  if (native.isError !== !submitted.success) return false;
  const read = nativeContent.safeParse(native.content ?? []);
  if (!read.success) return false;
  if (!submitted.success) return sameFailure(submitted, read.data);
  const parts = submitted.content.filter((part) =>
    part.type === "input_image" || part.text !== ""
  );
  if (parts.length === 0) return read.data.length <= 1;
  let at = 0;
  for (const [index, part] of parts.entries()) {
    const taken = read.data[at++];
    if (part.type === "input_text") {
      if (taken?.type !== "text" || taken.text !== part.text) return false;
      continue;
    }
    if (taken?.type !== "image") return false;
    const next = read.data[at];
    const following = parts[index + 1];
    const ours = next?.type === "text" && following?.type === "input_text" &&
      next.text === following.text;
    if (next?.type === "text" && !ours) at++;
  }
  return at === read.data.length;
}

/** The program flattens the blocks of a failed result into one text. */
function sameFailure(
  submitted: FunctionResult,
  blocks: readonly z.output<typeof block>[],
): boolean {
  const texts = submitted.content.flatMap((part) =>
    part.type === "input_text" ? [part.text] : []
  );
  if (texts.every((text) => text === "")) return true;
  const native = blocks.flatMap((each) =>
    each.type === "text" ? [each.text] : []
  ).join("\n");
  return native === texts.join("\n") ||
    native === texts.filter((text) => text !== "").join("\n");
}
