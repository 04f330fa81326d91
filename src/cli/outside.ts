/** What the command line may use of the machine, as one parameter. Only `main.ts` makes a real one. */
import { type Clock, systemClock } from "../platform/clock.ts";
import {
  type Ids,
  type Random,
  systemIds,
  systemRandom,
} from "../platform/ids.ts";

/** A text output of the process. */
export interface Output {
  /** Writes all of `text` before it returns. A closed pipe is not an error. */
  write(text: string): void;
  readonly isTerminal: boolean;
  /** Width in characters; 80 when unknown. */
  columns(): number;
}

/** The systems the program knows. */
export type OperatingSystem = "linux" | "darwin" | "windows";

/** Everything a command gets from the machine. */
export interface Outside {
  readonly environment: Readonly<Record<string, string>>;
  readonly operatingSystem: OperatingSystem;
  /** Effective user id; `null` on Windows. */
  readonly userId: number | null;
  /** Absolute home directory, when one is known. */
  readonly home: string | undefined;
  readonly workingDirectory: string;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Reads stdin to its end; throws a `RangeError` beyond `maximumBytes`. */
  readStdin(maximumBytes: number): Promise<Uint8Array>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random: Random;
}

/** The real machine. */
export function systemOutside(): Outside {
  const environment = Deno.env.toObject();
  return {
    environment,
    operatingSystem: systemName(),
    userId: Deno.uid(),
    home: environment.HOME ?? environment.USERPROFILE,
    workingDirectory: Deno.cwd(),
    stdout: systemOutput(Deno.stdout),
    stderr: systemOutput(Deno.stderr),
    readStdin,
    clock: systemClock,
    ids: systemIds,
    random: systemRandom,
  };
}

function systemName(): OperatingSystem {
  const name = Deno.build.os;
  return name === "darwin" || name === "windows" ? name : "linux";
}

function systemOutput(
  stream: { writeSync(bytes: Uint8Array): number; isTerminal(): boolean },
): Output {
  const encoder = new TextEncoder();
  return {
    write(text) {
      let rest = encoder.encode(text);
      try {
        while (rest.length > 0) rest = rest.subarray(stream.writeSync(rest));
      } catch (error) {
        // The reader went away; nothing is left to tell it.
        if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
      }
    },
    isTerminal: stream.isTerminal(),
    columns() {
      try {
        return Deno.consoleSize().columns;
      } catch {
        return 80; // no terminal behind the stream
      }
    },
  };
}

async function readStdin(maximumBytes: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of Deno.stdin.readable) {
    length += part.length;
    if (length > maximumBytes) throw new RangeError("stdin is too long");
    parts.push(part);
  }
  const all = new Uint8Array(length);
  let offset = 0;
  for (const part of parts) {
    all.set(part, offset);
    offset += part.length;
  }
  return all;
}
