/** The machine as service managers need it: commands, definition files, the user. */
import { dirname } from "@std/path";
import { type Clock, within } from "../platform/clock.ts";
import type { ServiceHost } from "../service/manager.ts";
import type { Outside } from "./outside.ts";

/** Time for one command of a manager, in milliseconds. */
const COMMAND = 30_000;

/** Windows reads task definitions as UTF-16 only. */
const UTF16 = /^<\?xml [^>]*encoding="UTF-16"/;

/** The real machine. */
export function systemServiceHost(outside: Outside): ServiceHost {
  return {
    userId: outside.userId,
    userName: outside.environment.USER ?? outside.environment.USERNAME ??
      "root",
    run: (words) => run(words, outside.clock),
    async read(path) {
      try {
        return decode(await Deno.readFile(path));
      } catch (error) {
        if (error instanceof Deno.errors.NotFound) return undefined;
        throw error;
      }
    },
    async write(path, text, mode) {
      await Deno.mkdir(dirname(path), { recursive: true });
      const temporary = `${path}.${outside.ids.hex(4)}.new`;
      await Deno.writeFile(temporary, encode(text), { mode });
      // The mask of the process must not hide a definition from its manager.
      if (outside.operatingSystem !== "windows") {
        await Deno.chmod(temporary, mode);
      }
      await Deno.rename(temporary, path);
    },
    async remove(path) {
      await Deno.remove(path);
    },
  };
}

async function run(words: readonly string[], clock: Clock) {
  const [program = "", ...rest] = words;
  try {
    const child = new Deno.Command(program, {
      args: rest,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const output = await within(clock, COMMAND, program, child.output());
    const decoder = new TextDecoder();
    return {
      code: output.code,
      stdout: decoder.decode(output.stdout),
      stderr: decoder.decode(output.stderr),
    };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) {
      return { code: 127, stdout: "", stderr: `${program} is not installed` };
    }
    throw error;
  }
}

function encode(text: string): Uint8Array {
  if (!UTF16.test(text)) return new TextEncoder().encode(text);
  const bytes = new Uint8Array(2 + text.length * 2);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, 0xfeff, true);
  for (let index = 0; index < text.length; index++) {
    view.setUint16(2 + index * 2, text.charCodeAt(index), true);
  }
  return bytes;
}

function decode(bytes: Uint8Array): string {
  const wide = bytes[0] === 0xff && bytes[1] === 0xfe;
  return new TextDecoder(wide ? "utf-16le" : "utf-8").decode(bytes);
}
