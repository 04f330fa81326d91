/**
 * The last net against secrets in output: replaces known secret values, also in the forms that
 * encoders give them, and escapes control characters. The first net is never to log them.
 */
/** What stands in the place of a secret. */
const MARK = "[secret]";

/** Values shorter than this are not replaced: they would make the log unreadable. */
const SHORTEST_SECRET = 8;

/** A set of secret values that grows while the program runs. */
export interface Redactor {
  /** Adds a value; takes effect for everything redacted later. */
  add(secret: string): void;
  /** `text` with each known value, in each of its forms, replaced. */
  redact(text: string): string;
}

/** Creates an empty redactor. */
export function createRedactor(): Redactor {
  const forms = new Set<string>();
  let ordered: readonly string[] = [];
  return {
    add(secret) {
      for (const form of encodedForms(secret.trim())) forms.add(form);
      // Longest first: a form that contains another must not be left in part.
      ordered = [...forms].toSorted((one, other) => other.length - one.length);
    },
    redact(text) {
      let result = text;
      for (const form of ordered) result = result.replaceAll(form, MARK);
      return result;
    },
  };
}

function encodedForms(secret: string): string[] {
  if (secret.length < SHORTEST_SECRET) return [];
  const forms = [secret, encodeURIComponent(secret), jsonForm(secret)];
  // Base64 depends on where the value starts in a group of three bytes; the whole groups of each
  // start are what survives in a longer encoded text.
  for (let shift = 0; shift < 3; shift++) {
    const bytes = new TextEncoder().encode("\0".repeat(shift) + secret);
    const skip = shift === 0 ? 0 : 4;
    const whole = Math.floor(bytes.length / 3) * 4;
    const core = bytes.toBase64().slice(skip, whole);
    if (core.length >= SHORTEST_SECRET) {
      forms.push(core, core.replaceAll("+", "-").replaceAll("/", "_"));
    }
  }
  forms.push(new TextEncoder().encode(secret).toBase64());
  return forms;
}

function jsonForm(secret: string): string {
  return JSON.stringify(secret).slice(1, -1);
}

/**
 * `text` on one line: control characters, line separators and direction marks become visible
 * escapes.
 */
export function escapeControls(text: string): string {
  return text.replace(
    // deno-lint-ignore no-control-regex -- these characters are what is escaped
    /[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => {
      const code = character.charCodeAt(0);
      return code === 0x0a
        ? "\\n"
        : code === 0x09
        ? "\\t"
        : `\\u${code.toString(16).padStart(4, "0")}`;
    },
  );
}
