/** Finds, ends and overhears native processes of one rig. */
import type { SpawnChild } from "../../src/harness/child.ts";
import { spawnChild } from "../../src/harness/supervised_child.ts";

/** A message of the process, as far as tests look into it. */
export interface OverheardMessage {
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: unknown;
}

/** Spawns for real; `dispatched` is told of each message after the adapter handled it. */
export function watchingSpawn(
  dispatched: (message: OverheardMessage) => void,
): SpawnChild {
  return async (options) => {
    const child = await spawnChild(options);
    const { messages } = child;
    const watched = async function* () {
      for await (const message of messages) {
        yield message;
        dispatched(message as OverheardMessage);
      }
    };
    Object.defineProperty(child, "messages", { value: watched() });
    return child;
  };
}

/** Process ids of the app-servers whose home lies below `state`. */
export async function codexProcesses(state: string): Promise<number[]> {
  const found: number[] = [];
  for await (const entry of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(entry.name)) continue;
    const read = (name: string) =>
      Deno.readTextFile(`/proc/${entry.name}/${name}`).catch(() => "");
    const [environment, command] = await Promise.all([
      read("environ"),
      read("cmdline"),
    ]);
    if (environment.includes(state) && command.includes("app-server")) {
      found.push(Number(entry.name));
    }
  }
  return found;
}

/** SIGKILL to each of them. */
export async function killCodex(state: string): Promise<void> {
  for (const pid of await codexProcesses(state)) Deno.kill(pid, "SIGKILL");
}
