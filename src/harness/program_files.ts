/** What discovery asks the file system, as a parameter. */

/** Questions about files. */
export interface ProgramFiles {
  /** Whether a regular file is there, after links, that this user may execute. */
  isProgram(path: string): Promise<boolean>;
  /** The text of a small file, or `undefined` where there is none. Never more than `bytes`. */
  readText(path: string, bytes: number): Promise<string | undefined>;
  /** What changes when a program is replaced, or `undefined` where there is none. */
  stamp(path: string): Promise<string | undefined>;
}

/** The file system of this machine. */
export const systemProgramFiles: ProgramFiles = {
  async isProgram(path) {
    const info = await statOf(path);
    if (!info?.isFile) return false;
    return info.mode === null || (info.mode & 0o111) !== 0;
  },
  async readText(path, bytes) {
    const info = await statOf(path);
    if (!info?.isFile || info.size > bytes) return undefined;
    return await Deno.readTextFile(path);
  },
  async stamp(path) {
    const info = await statOf(path);
    if (!info?.isFile) return undefined;
    return [info.ino, info.size, info.mtime?.getTime()].join("-");
  },
};

async function statOf(path: string): Promise<Deno.FileInfo | undefined> {
  try {
    return await Deno.stat(path);
  } catch {
    return undefined; // absent, unreadable or below a file: not usable either way
  }
}
