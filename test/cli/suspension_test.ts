/** A bound daemon that Core suspends and resumes: real process, real WebSocket, real signal. */
import { assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import type { WebSocket } from "ws";
import { deferred } from "../../src/platform/deferred.ts";
import { bootstrapBody, TestCore } from "../transport/test_core.ts";
import { agentDaemon, makePlace, type Place } from "./command_line.ts";
import {
  CONTRACT,
  daemonWords,
  DEVICE,
  type RunningDaemon,
  startDaemon,
} from "./running_daemon.ts";

const ENVIRONMENT = "0b7c9f52-3a1d-4c55-8d0e-5f6a7b8c9d0e";
const SESSION = "7d1e0c3b-2f4a-4b6c-9e8d-1a2b3c4d5e6f";
const ignore = Deno.build.os !== "linux";

/** One received frame. */
interface Frame {
  readonly type: string;
  readonly id?: string;
  readonly payload?: unknown;
}

/** One connection of the daemon, seen from Core. */
class Peer {
  readonly frames: Frame[] = [];
  readonly closed = deferred<number>();
  readonly #socket: WebSocket;
  #news = deferred();

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("message", (data) => {
      this.frames.push(JSON.parse(data.toString()));
      this.#news.resolve();
      this.#news = deferred();
    });
    socket.on("close", (code) => this.closed.resolve(code));
  }

  /** Sends a suspension request and waits for the frame with its id. */
  async ask(type: string, id: string, payload: unknown): Promise<Frame> {
    this.#socket.send(JSON.stringify({ type, id, payload }));
    for (;;) {
      const reply = this.frames.find((frame) => frame.id === id);
      if (reply) return reply;
      if (this.closed.settled) throw new Error(`no reply to ${type}`);
      await Promise.race([this.#news.promise, this.closed.promise]);
    }
  }

  async heartbeat(): Promise<void> {
    if (this.frames.length === 0) await this.#news.promise;
    assertEquals(this.frames[0]?.type, "heartbeat");
  }
}

/** A Core that hands out its peers in order. */
class Core {
  readonly #peers: Peer[] = [];
  #next = deferred();
  #failure: Error | undefined;

  constructor(readonly core: TestCore) {
    core.onRequest = (_request, response) =>
      response.end(bootstrapBody(core, DEVICE));
    core.onSocket = (socket) => {
      this.#peers.push(new Peer(socket));
      this.#next.resolve();
      this.#next = deferred();
    };
  }

  /** No further connection will come. */
  fail(failure: Error): void {
    this.#failure = failure;
    this.#next.resolve();
  }

  /** The connection with this number, from 0; its first frame was a heartbeat. */
  async peer(number: number): Promise<Peer> {
    for (;;) {
      const peer = this.#peers[number];
      if (peer) {
        await peer.heartbeat();
        return peer;
      }
      if (this.#failure) throw this.#failure;
      await this.#next.promise;
    }
  }
}

const ids = (suspendId: string) => ({
  environment_id: ENVIRONMENT,
  suspend_id: suspendId,
});

/** The words of a daemon that can be suspended. */
async function words(
  place: Place,
  origin: string,
  { control, workspace }: { readonly control: string; workspace: string },
) {
  return [
    ...await daemonWords(place, origin),
    ...["--workspace", workspace, "--environment-id", ENVIRONMENT],
    ...["--session-id", SESSION, "--suspend-control", control],
  ];
}

function resumeWords(control: string, suspendId: string, environment: string) {
  return [
    ...["resume", "--suspend-control", control],
    ...["--environment-id", environment, "--suspend-id", suspendId],
  ];
}

async function inDaemon(
  body: (parts: {
    readonly place: Place;
    readonly core: Core;
    readonly control: string;
    readonly workspace: string;
    readonly daemon: RunningDaemon;
  }) => Promise<void>,
): Promise<void> {
  await using place = await makePlace();
  await using core = await TestCore.start();
  // Beside the place: a workspace must not lie where the token is.
  const workspace = await Deno.realPath(await Deno.makeTempDir());
  const folder = join(place.directory, "control");
  await Deno.mkdir(folder, { mode: 0o700 });
  const control = join(folder, "suspend");
  const seen = new Core(core);
  const daemon = startDaemon(
    place,
    await words(place, core.origin, { control, workspace }),
    CONTRACT,
  );
  const died = daemon.ended.then(({ code }) => {
    seen.fail(
      new Error(`the daemon ended with ${code}: ${daemon.errorText()}`),
    );
  });
  try {
    await body({ place, core: seen, control, workspace, daemon });
  } finally {
    daemon.end();
    await died;
    await Deno.remove(workspace, { recursive: true });
  }
}

Deno.test({
  name:
    "Core suspends a daemon, the resume command wakes it, Core resumes it on a new connection",
  ignore,
  fn: () =>
    inDaemon(async ({ place, core, control, daemon }) => {
      const first = await core.peer(0);
      // A signal of before: it must not wake what is suspended after it.
      daemon.signal("SIGUSR1");
      await daemon.logged("wake_signal");
      const quiesced = await first.ask("environment_quiesce", "q", ids("42"));
      assertEquals(quiesced.payload, { ...ids("42"), accepted: true });
      assertEquals(await first.closed.promise, 1000);
      const record = JSON.parse(await Deno.readTextFile(control));
      assertEquals(record.suspend_id, "42");
      assertEquals(record.pid, daemon.pid);

      const other = await agentDaemon(
        resumeWords(control, "41", ENVIRONMENT),
        place,
      );
      assertEquals([other.code, other.stderr], [
        2,
        "the daemon waits for another suspension\n",
      ]);
      const foreign = await agentDaemon(
        resumeWords(control, "42", SESSION),
        place,
      );
      assertEquals(foreign.code, 2);
      assertEquals(core.core.upgrades.length, 1);

      const right = await agentDaemon(
        resumeWords(control, "42", ENVIRONMENT),
        place,
      );
      assertEquals([right.code, right.stdout], [
        0,
        `process ${daemon.pid} was woken\n`,
      ]);
      const second = await core.peer(1);
      const resumed = await second.ask("environment_resume", "r", ids("42"));
      assertEquals(resumed.payload, { ...ids("42"), accepted: true });
      assertEquals(second.frames.map(({ type }) => type).slice(0, 2), [
        "heartbeat",
        "environment_resumed",
      ]);
      // It serves again: a repeated resume is confirmed, another suspension is not.
      const again = await second.ask("environment_resume", "r2", ids("42"));
      assertEquals(again.payload, { ...ids("42"), accepted: true });
      const never = await second.ask("environment_resume", "r3", ids("43"));
      assertEquals(never.payload, {
        ...ids("43"),
        accepted: false,
        error_code: "not_suspended",
      });
      const idle = await agentDaemon(
        resumeWords(control, "42", ENVIRONMENT),
        place,
      );
      assertEquals(idle.stderr, "the daemon is not suspended\n");

      daemon.signal("SIGTERM");
      assertEquals((await daemon.ended).code, 0);
      assertEquals([...Deno.readDirSync(join(control, ".."))], []);
    }),
});

Deno.test({
  name:
    "a first frame that resumes nothing ends the daemon with the code of a broken protocol",
  ignore,
  fn: () =>
    inDaemon(async ({ place, core, control, daemon }) => {
      const first = await core.peer(0);
      await first.ask("environment_quiesce", "q", ids("42"));
      await first.closed.promise;
      await agentDaemon(resumeWords(control, "42", ENVIRONMENT), place);
      const second = await core.peer(1);
      second.ask("environment_resume", "r", ids("another")).catch(() => {});
      assertEquals((await daemon.ended).code, 76);
      assertMatch(daemon.errorText(), /did not resume the suspended session/);
      assertEquals(core.core.upgrades.length, 2);
    }),
});

Deno.test({
  name:
    "a stop ends a suspended daemon; a second owner of the control is refused",
  ignore,
  fn: () =>
    inDaemon(async ({ place, core, control, workspace, daemon }) => {
      const first = await core.peer(0);
      const refused = await agentDaemon(
        [
          ...await words(place, core.core.origin, { control, workspace }),
          ...["--state-dir", join(place.directory, "other")],
        ],
        place,
      );
      assertEquals(refused.code, 78, refused.stderr);
      assertMatch(refused.stderr, /--suspend-control: exists already/);
      await first.ask("environment_quiesce", "q", ids("42"));
      await first.closed.promise;
      daemon.signal("SIGTERM");
      assertEquals((await daemon.ended).code, 0);
      assertEquals([...Deno.readDirSync(join(control, ".."))], []);
    }),
});

Deno.test("a control without a workspace is refused before anything is dialled", async () => {
  await using place = await makePlace();
  await using core = await TestCore.start();
  new Core(core);
  const { code, stderr } = await agentDaemon([
    ...await daemonWords(place, core.origin),
    ...["--suspend-control", join(place.directory, "suspend")],
  ], place);
  assertEquals(code, 78, stderr);
  assertMatch(
    stderr,
    /--suspend-control: (needs a daemon that is bound|works on Linux only)/,
  );
  assertEquals(core.upgrades.length, 0);
});

for (
  const missing of ["--suspend-control", "--environment-id", "--suspend-id"]
) {
  Deno.test(`resume without ${missing} is a mistake of usage`, async () => {
    await using place = await makePlace();
    const all = resumeWords(join(place.directory, "c"), "42", ENVIRONMENT);
    const at = all.indexOf(missing);
    const { code, stderr } = await agentDaemon(all.toSpliced(at, 2), place);
    assertEquals(code, 64, stderr);
    assertMatch(stderr, new RegExp(missing));
  });
}
