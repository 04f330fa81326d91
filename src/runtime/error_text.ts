// Owns the bound on error texts that an engine wrote and Core may show.
import { MAX_ERROR_TEXT_BYTES } from "./limits.ts";
import { fitsUtf8, utf8Bytes } from "../protocol/text.ts";

/** One line of at most 1 KiB; a cut is marked. Control characters become spaces. */
export function errorText(text: string): string {
  // deno-lint-ignore no-control-regex
  const line = text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, " ")
    .trim();
  if (fitsUtf8(line, MAX_ERROR_TEXT_BYTES)) return line || "unknown error";
  const room = MAX_ERROR_TEXT_BYTES - utf8Bytes("…");
  let end = Math.min(line.length, room);
  while (!fitsUtf8(line.slice(0, end), room)) end = Math.floor(end * 0.9);
  return `${line.slice(0, end).toWellFormed().replace(/\ufffd$/, "")}…`;
}
