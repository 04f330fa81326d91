/**
 * Owns the Runtime side of a replay against the loopback Core: a bare WebSocket that sends what the
 * scenario says and shows what it receives. It shares nothing with the real Runtime but the wire.
 */
// @ts-types="@types/ws"
import WebSocket from "ws";
import {
  type CapabilityDeclaration,
  encodeDeclaration,
} from "../../src/protocol/capabilities.ts";
import { runtimeFrame } from "../../src/protocol/frames.ts";
import { PROTOCOL_VERSION } from "../../src/protocol/version.ts";
import { Inbox } from "./frame_inbox.ts";
import type { ScenarioFrame } from "./scenario.ts";

/** How a scripted Runtime dials. */
export interface ScriptedDial {
  readonly origin: string;
  readonly deviceId: string;
  readonly credential: string;
  readonly version?: string;
}

/** The refusal of a dial. */
export interface DialRefusal {
  readonly status: number;
  readonly body: string;
}

function open(dial: ScriptedDial): WebSocket {
  const url = new URL(`${dial.origin}/api/v1/agent-daemon/ws`);
  url.protocol = "ws:";
  url.searchParams.set("device_id", dial.deviceId);
  url.searchParams.set("version", dial.version ?? PROTOCOL_VERSION);
  return new WebSocket(url, {
    headers: { authorization: `Bearer ${dial.credential}` },
    perMessageDeflate: false,
  });
}

/** Dials and expects a refusal. */
export function refusedDial(dial: ScriptedDial): Promise<DialRefusal> {
  const socket = open(dial);
  return new Promise((resolve, reject) => {
    socket.on("open", () => {
      socket.terminate();
      reject(new Error("the dial was accepted"));
    });
    socket.on("error", () => {}); // terminating an unopened socket reports itself
    socket.on("unexpected-response", (_request, response) => {
      let body = "";
      response.on("data", (chunk: Uint8Array) => {
        body += new TextDecoder().decode(chunk);
      });
      response.on("end", () => {
        socket.terminate();
        resolve({ status: response.statusCode ?? 0, body });
      });
    });
  });
}

/** One open connection of a scripted Runtime. */
export class ScriptedRuntime {
  readonly inbox: Inbox<ScenarioFrame> = new Inbox();
  readonly #socket: WebSocket;
  readonly closed: Promise<number>;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("error", () => {}); // followed by the close event
    socket.on("message", (data: Uint8Array) => {
      const { type, id, payload } = JSON.parse(new TextDecoder().decode(data));
      this.inbox.put({
        type,
        ...(id === undefined ? {} : { id }),
        ...(payload === undefined ? {} : { payload }),
      });
    });
    this.closed = new Promise((resolve) => {
      socket.on("close", (code: number) => resolve(code));
    });
  }

  /** Dials, and resolves with the open connection. Nothing was sent yet. */
  static connect(dial: ScriptedDial): Promise<ScriptedRuntime> {
    const socket = open(dial);
    const runtime = new ScriptedRuntime(socket);
    return new Promise((resolve, reject) => {
      socket.once("open", () => resolve(runtime));
      socket.once("error", reject);
    });
  }

  /** Sends one heartbeat with this declaration of the kind `contract`. */
  heartbeat(declaration: CapabilityDeclaration): void {
    this.send(runtimeFrame("heartbeat", undefined, {
      ts: 1_767_225_600,
      active_requests: 0,
      supported_agent_kinds: [{
        kind: "contract",
        available: true,
        version: "1",
        capabilities: encodeDeclaration(declaration),
      }],
    }));
  }

  /** Sends one frame as it is. */
  send(frame: ScenarioFrame): void {
    const { type, id, payload } = frame;
    this.sendText(JSON.stringify({ type, id, payload }));
  }

  /** Sends any text. */
  sendText(text: string): void {
    this.#socket.send(text);
  }

  /** Ends the socket without a close frame. */
  drop(): Promise<number> {
    this.#socket.terminate();
    return this.closed;
  }

  /** Ends the socket with code 1000. */
  close(): Promise<number> {
    this.#socket.close(1000);
    return this.closed;
  }
}
