// A child for baselines: for each line on stdin it prints a number of JSON lines, one write each, as
// an agent that streams does.
const [count = "0", text = ""] = Deno.args;
const line = new TextEncoder().encode(
  `${JSON.stringify({ type: "text", turn: "turn-1", text })}\n`,
);
for await (const _line of Deno.stdin.readable) {
  for (let n = 0; n < Number(count); n++) Deno.stdout.writeSync(line);
}
