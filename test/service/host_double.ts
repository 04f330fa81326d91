/** A machine in memory: files in a map, commands recorded and answered by rules. */
import type { CommandOutcome, ServiceHost } from "../../src/service/manager.ts";

/** A {@linkcode ServiceHost} that tests look into. */
export interface HostDouble extends ServiceHost {
  readonly files: Map<string, string>;
  /** Commands in order, each as one line. */
  readonly commands: string[];
}

/** Answers a command that starts with a key of `answers`; every other one ends with 0. */
export function hostDouble(
  answers: Readonly<Record<string, Partial<CommandOutcome>>> = {},
): HostDouble {
  const files = new Map<string, string>();
  const commands: string[] = [];
  return {
    files,
    commands,
    userId: 501,
    userName: "dev",
    run(words) {
      const line = words.join(" ");
      commands.push(line);
      const key = Object.keys(answers).find((each) => line.startsWith(each));
      return Promise.resolve({
        code: 0,
        stdout: "",
        stderr: "",
        ...(key === undefined ? {} : answers[key]),
      });
    },
    read: (path) => Promise.resolve(files.get(path)),
    write(path, text) {
      files.set(path, text);
      return Promise.resolve();
    },
    remove(path) {
      files.delete(path);
      return Promise.resolve();
    },
  };
}
