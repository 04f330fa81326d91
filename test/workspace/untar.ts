/** Reads a tar stream with the system's own program, so that the writer is not judged by itself. */

/** The regular files of an archive by name, in its order. */
export function untar(archive: Uint8Array): Map<string, Uint8Array> {
  const folder = Deno.makeTempDirSync();
  try {
    const file = `${folder}/archive.tar`;
    Deno.writeFileSync(file, archive);
    const listed = tar(["-tf", file]);
    const target = `${folder}/out`;
    Deno.mkdirSync(target);
    tar(["-xf", file, "-C", target]);
    return new Map(
      listed.split("\n").filter((name) => name !== "").map((name) => [
        name,
        Deno.readFileSync(`${target}/${name}`),
      ]),
    );
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

function tar(words: string[]): string {
  const { success, stdout, stderr } = new Deno.Command("tar", { args: words })
    .outputSync();
  const decoder = new TextDecoder();
  if (!success) throw new Error(decoder.decode(stderr));
  return decoder.decode(stdout);
}
