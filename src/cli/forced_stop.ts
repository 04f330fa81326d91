/** The forced stop: kills the native processes, waits for reaping, names what stays unconfirmed. */
import type { Log } from "../platform/log.ts";
import { PROGRAM } from "./build.ts";
import type { NativeChildren } from "./native_children.ts";
import type { Outside } from "./outside.ts";

/** What a forced stop works with. */
export interface ForcedStop {
  readonly children: NativeChildren;
  readonly outside: Outside;
  readonly log: Log;
  /** Ends the process at once; production passes `Deno.exit`. */
  readonly exit: (code: number) => void;
}

/** Carries it out; at most 5 s, then the process ends with `code` whatever lives. */
export async function forceStop(
  code: number,
  parts: ForcedStop,
): Promise<void> {
  const { children, exit, log, outside } = parts;
  const names = children.names();
  log.warn("killing_native_processes", { names });
  const left = await children.killAll(outside.clock);
  if (left.length > 0) log.error("end_unconfirmed", { names: left });
  outside.stderr.write(
    left.length > 0
      ? `${PROGRAM}: forced stop; still unconfirmed: ${left.join(", ")}\n`
      : `${PROGRAM}: forced stop; ${names.length} native processes ended\n`,
  );
  exit(code);
}
