// The least program that lives until its input ends: the baseline of start and memory.
Deno.stdout.writeSync(new TextEncoder().encode("ready\n"));
for await (const _part of Deno.stdin.readable) {
  // until the end of the input
}
