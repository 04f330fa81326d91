/** Tells systemd about the service through its own tool: this runtime has no datagram socket. */
import type { Log } from "../platform/log.ts";
import type { Outside } from "./outside.ts";

/** Sends one assignment, such as `WATCHDOG=1`, in the background. A failure is logged. */
export function notifySystemd(
  assignment: string,
  outside: Outside,
  log: Log,
): void {
  const socket = outside.environment.NOTIFY_SOCKET;
  if (!socket) return;
  new Deno.Command("systemd-notify", {
    args: [assignment],
    clearEnv: true,
    env: {
      NOTIFY_SOCKET: socket,
      PATH: outside.environment.PATH ?? "/usr/bin:/bin",
    },
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).output().then(
    ({ code }) => {
      if (code !== 0) log.warn("systemd_notify_failed", { code });
    },
    (error) => log.warn("systemd_notify_failed", { error }),
  );
}
