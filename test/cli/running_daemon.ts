/** A daemon in a process of its own, its log read line by line. */
import { fromFileUrl, join } from "@std/path";
import {
  readStatus,
  type StatusDocument,
} from "../../src/cli/status_document.ts";
import { MAIN, type Place, RUN } from "./command_line.ts";

/** The program with the scripted Harness. */
export const CONTRACT = fromFileUrl(
  new URL("./contract_daemon.ts", import.meta.url),
);

/** One parsed log line. */
export type LogLine = Readonly<Record<string, unknown>> & {
  readonly event: string;
};

/** A daemon that was started; must be ended by the test. */
export interface RunningDaemon {
  readonly pid: number;
  /** Everything on stderr so far. */
  readonly errorText: () => string;
  /** Resolves at the first line, past or future, with this event that `fits`. */
  logged(
    event: string,
    fits?: (line: LogLine) => boolean,
  ): Promise<LogLine>;
  signal(name: Deno.Signal): void;
  /** Kills it if a failed test left it. */
  end(): void;
  /** The exit code, or -1 with `signal` when a signal ended it. */
  readonly ended: Promise<{
    readonly code: number;
    readonly signal: string | null;
    readonly stdout: string;
  }>;
}

/** The device of the tests. */
export const DEVICE = "6f0c2d1e-0f54-4b7e-9b36-2b8f1f9d7a10";
/** A credential that must not show up anywhere. */
export const TOKEN = "canary-Tok3n-9f8e7d6c5b4a3210";

/** The words that connect a daemon at `place` to `origin`. */
export async function daemonWords(
  place: Place,
  origin: string,
  token: string = TOKEN,
): Promise<string[]> {
  return [
    "--device-id",
    DEVICE,
    "--token-file",
    await place.write("token", `${token}\n`),
    "--core-url",
    origin,
    "--allow-root",
  ];
}

/** Starts a daemon. `entry` is the real program unless another is given. */
export function startDaemon(
  place: Place,
  words: readonly string[],
  entry: string = MAIN,
): RunningDaemon {
  const child = new Deno.Command(Deno.execPath(), {
    args: [...RUN, entry, ...words],
    clearEnv: true,
    env: place.environment,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let done = false;
  const lines = new LineLog();
  const read = lines.read(child.stderr);
  const stdout = new Response(child.stdout).text();
  return {
    pid: child.pid,
    errorText: () => lines.text,
    logged: (event, fits) => lines.find(event, fits),
    signal: (name) => child.kill(name),
    end: () => {
      if (!done) child.kill("SIGKILL");
    },
    ended: (async () => {
      const status = await child.status;
      done = true;
      await read;
      return {
        code: status.signal === null ? status.code : -1,
        signal: status.signal,
        stdout: await stdout,
      };
    })(),
  };
}

/** Text that arrives in pieces, and those who wait for a line of it. */
class LineLog {
  text = "";
  #done = false;
  readonly #waiting = new Set<() => void>();

  async read(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      this.text += decoder.decode(chunk, { stream: true });
      for (const look of [...this.#waiting]) look();
    }
    this.#done = true;
    for (const look of [...this.#waiting]) look();
  }

  find(
    event: string,
    fits: (line: LogLine) => boolean = () => true,
  ): Promise<LogLine> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const line = this.#lines().find((each) =>
          each.event === event && fits(each)
        );
        if (line) resolve(line);
        else if (this.#done) {
          reject(new Error(`the daemon ended without ${event}: ${this.text}`));
        } else return;
        this.#waiting.delete(look);
      };
      this.#waiting.add(look);
      look();
    });
  }

  #lines(): LogLine[] {
    return this.text.split("\n").slice(0, -1)
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line));
  }
}

/** Resolves with the first written status that fits. */
export async function statusWhere(
  place: Place,
  fits: (status: StatusDocument) => boolean,
): Promise<StatusDocument> {
  const directory = join(place.directory, "state");
  using watcher = Deno.watchFs(directory);
  const events = watcher[Symbol.asyncIterator]();
  for (;;) {
    const reading = await readStatus(directory);
    if (reading.kind === "document" && fits(reading.document)) {
      return reading.document;
    }
    await events.next();
  }
}
