/**
 * A native agent that does what it is told: a child process that speaks JSON lines over stdio and
 * can misbehave in each way that real ones were seen to. Modes of the whole process come as
 * arguments; what a Turn does comes as the first word of its input.
 *
 * Input texts: `say X`, `hold`, `call NAME`, `permission`, `choose`, `tool`, `think X`, `fail`,
 * `silence`, `exit`, `hang`, `long N`, `split X`, `malformed`, `noise N`, `spawn`, `spawn detached`.
 */

/** A message in either direction. */
interface Message {
  readonly type: string;
  readonly [member: string]: unknown;
}

const modes = new Set(Deno.args);
const encoder = new TextEncoder();
let session = "";
/** The Turn that runs, and what it waits for. */
let active: { id: string; text: string; steered: string[] } | undefined;

function print(text: string): void {
  let bytes = encoder.encode(text);
  while (bytes.length > 0) bytes = bytes.subarray(Deno.stdout.writeSync(bytes));
}

function send(message: Message): void {
  print(`${JSON.stringify(message)}\n`);
}

function end(status: "completed" | "cancelled" | "failed"): void {
  const turn = active;
  active = undefined;
  if (turn) send({ type: "end", turn: turn.id, status, text: turn.text });
}

function say(text: string): void {
  if (!active) return;
  active.text += text;
  send({ type: "text", turn: active.id, text });
}

/** What each Turn does when it starts. A Turn that does not end here waits for a message. */
const turns: Readonly<Record<string, (rest: string) => void>> = {
  say(rest) {
    for (const word of rest.split(/(?<= )/)) say(word);
    send({ type: "usage", turn: active?.id, tokens: rest.length });
    end("completed");
  },
  hold: () => say("holding"),
  think(rest) {
    send({ type: "thought", turn: active?.id, text: rest });
    end("completed");
  },
  tool() {
    const call = { turn: active?.id, call: "tool-1", command: "true" };
    send({ type: "tool", stage: "before", ...call });
    send({ type: "tool", stage: "after", ...call });
    end("completed");
  },
  call(rest) {
    const [name = "", call = "call-1"] = rest.split(" ");
    send({
      type: "call",
      turn: active?.id,
      call,
      name,
      arguments: { city: "Köln" },
    });
  },
  permission: () =>
    send({ type: "permission", turn: active?.id, ask: "permission-1" }),
  choose: () => send({ type: "choose", turn: active?.id, ask: "choice-1" }),
  fail: () => end("failed"),
  silence: () => {},
  exit: () => Deno.exit(3),
  hang() {
    say("last words");
    end("completed");
    for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  },
  long(rest) {
    say("x".repeat(Number(rest)));
    end("completed");
  },
  split(rest) {
    const line = JSON.stringify({ type: "text", turn: active?.id, text: rest });
    print(`${line.replaceAll("|", "\n")}\n`);
    if (active) active.text += rest;
    end("completed");
  },
  malformed: () => print("{this is no message}\n"),
  noise(rest) {
    print("not a message\n".repeat(Number(rest)));
    end("completed");
  },
  spawn(rest) {
    const detached = rest === "detached";
    const grandchild = new Deno.Command("/bin/sleep", {
      args: ["1000"],
      stdin: "null",
      stdout: "null",
      stderr: "null",
      detached,
    }).spawn();
    grandchild.unref();
    send({ type: "text", turn: active?.id, text: String(grandchild.pid) });
    if (active) active.text = String(grandchild.pid);
    end("completed");
  },
};

async function hello(message: Message): Promise<void> {
  if (modes.has("tell_secrets")) {
    Deno.stderr.writeSync(encoder.encode(`${
      JSON.stringify({
        provider: message.provider,
        servers: message.servers,
      })
    }\n`));
  }
  if (modes.has("prepare_exits")) Deno.exit(3);
  if (modes.has("prepare_silent") || modes.has("prepare_after_eof")) return;
  const file = `${String(message.home)}/session`;
  const known = await Deno.readTextFile(file).catch(() => "");
  const resume = message.resume;
  if (message.continue === true && known === "") {
    return send({ type: "refused", reason: "no history" });
  }
  if (typeof resume === "string" && resume !== known) {
    return send({ type: "refused", reason: "unknown history" });
  }
  session = message.continue === true ? known : crypto.randomUUID();
  if (modes.has("foreign_session")) session = crypto.randomUUID();
  await Deno.writeTextFile(file, session);
  if (modes.has("banner")) {
    print("\x1b[32mWelcome\x1b[0m\n\n" + "A banner line\n".repeat(40));
    print("\x1b]0;title\x07");
  }
  send({ type: "ready", session, pid: Deno.pid });
}

function steer(message: Message): void {
  const text = String(message.text);
  if (text === "exit") Deno.exit(3);
  if (text === "ignore") return;
  if (!active || text === "refuse" || message.turn !== active.id) {
    return send({ type: "refused_input", input: message.input });
  }
  active.steered.push(text);
  send({ type: "consumed", turn: active.id, input: message.input });
  if (text === "finish") end("completed");
}

/** What ends the waiting of a Turn. */
const answers: Readonly<Record<string, (message: Message) => void>> = {
  result(message) {
    if (modes.has("exit_at_result")) Deno.exit(3);
    if (modes.has("ignore_result")) return;
    send({ type: "call_settled", turn: active?.id, call: message.call });
    say(
      message.refused ? "refused" : `result ${JSON.stringify(message.content)}`,
    );
    end("completed");
  },
  decision(message) {
    if (modes.has("ignore_decision")) return;
    send({ type: "ask_settled", turn: active?.id, ask: message.ask });
    say(`decision ${JSON.stringify(message.decision)}`);
    end("completed");
  },
  cancel(message) {
    if (modes.has("ignore_cancel") || active?.id !== message.turn) return;
    end("cancelled");
  },
  steer,
  turn(message) {
    const text = String(message.text);
    active = { id: String(message.turn), text: "", steered: [] };
    const [word = ""] = text.split(" ", 1);
    const run = turns[word] ?? (() => turns.say?.(text));
    run(text.slice(word.length + 1));
  },
};

async function handle(line: string): Promise<void> {
  const message = JSON.parse(line) as Message;
  if (message.type === "hello") await hello(message);
  else answers[message.type]?.(message);
}

async function readInput(): Promise<void> {
  let rest = "";
  const text = Deno.stdin.readable.pipeThrough(new TextDecoderStream());
  for await (const chunk of text) {
    const parts = chunk.split("\n");
    for (const part of parts.slice(0, -1)) {
      await handle(rest + part);
      rest = "";
    }
    rest += parts.at(-1);
  }
}

const never = () => new Promise<never>(() => setInterval(() => {}, 60_000));

function begin(): void {
  if (modes.has("deaf_to_term") || modes.has("only_kill")) {
    Deno.addSignalListener("SIGTERM", () => {});
  } else if (modes.has("term_exits_zero")) {
    Deno.addSignalListener("SIGTERM", () => Deno.exit(0));
  }
  if (modes.has("flood_stderr")) {
    const block = encoder.encode("secret-canary and more noise on stderr\n");
    for (let written = 0; written < 10 * 1024 * 1024; written += block.length) {
      Deno.stderr.writeSync(block);
    }
  }
  if (modes.has("talk_first")) {
    // Four MiB before the first byte of stdin is read.
    for (let count = 0; count < 64; count++) {
      send({ type: "padding", text: "p".repeat(64 * 1024) });
    }
  }
}

begin();
await readInput();
if (modes.has("prepare_after_eof")) send({ type: "ready", session: "late" });
if (modes.has("spin_after_eof")) { for (;;); }
if (modes.has("ignore_eof") || modes.has("only_kill")) await never();
Deno.exit(0);
