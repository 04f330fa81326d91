/** Finds and ends native processes of one rig, the hard way. */

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
