/** The text of `status`: last proven facts, each with its age. Never "connected" without a proof. */
import type { StatusDocument } from "./status_document.ts";

/** What is known about the process behind the document. */
export interface StatusView {
  readonly document: StatusDocument;
  readonly alive: boolean;
  /** Unix milliseconds. */
  readonly now: number;
}

/** All lines, without a last line end. */
export function statusText(view: StatusView): string {
  const { document, alive, now } = view;
  const { process } = document;
  const age = (at: number) => `${ageText(now - at)} ago`;
  const lines: [string, string][] = [
    [
      "process",
      alive
        ? `${process.pid}, running since ${instantText(process.started_at)}`
        : `${process.pid} does not run any more`,
    ],
    ["version", `${process.version} (wire ${process.protocol_version})`],
    ["facts from", age(document.written_at)],
    ["Core", document.core_url],
    ["device", document.device_id],
    [
      "workspace",
      document.workspace === null
        ? "none (serves no local Environment)"
        : document.workspace,
    ],
    ...connectionLines(view),
    ...document.harnesses.map((harness): [string, string] => [
      `harness ${harness.kind}`,
      harness.available
        ? `${harness.version ?? "version unknown"}, ${harness.program ?? ""}`
        : `not available: ${harness.reason ?? "no reason known"}`,
    ]),
    ["owned", ownedText(document)],
    ...waitingLines(view),
    ...document.unknown.flatMap((each): [string, string][] => [
      ["UNKNOWN", each.owner],
      ["  remedy", each.remedy],
    ]),
    ...document.orphans.map((each): [string, string] => [
      "ORPHAN",
      `${each} of an earlier daemon could not be ended`,
    ]),
  ];
  const width = Math.max(...lines.map(([name]) => name.length));
  return lines.map(([name, text]) => `${name.padEnd(width)}  ${text}`)
    .join("\n");
}

/** What the phases mean, in words that claim no more than the last proof. */
const PHASES: Readonly<Record<string, string>> = {
  reading_credential: "reading the credential",
  bootstrapping: "asking Core where to dial",
  dialling: "dialling",
  socket_open: "a socket is open",
  waiting_for_shutdown: "settling the last connection's work",
  waiting_to_dial: "waiting for the next attempt",
  parked: "parked: refused for good, no requests",
  suspended: "suspended by Core: waits for its wake signal",
  ended: "ended",
};

function connectionLines({ document, now }: StatusView): [string, string][] {
  const { connection } = document;
  const lines: [string, string][] = [[
    "link",
    `${PHASES[connection.phase] ?? connection.phase} since ${
      ageText(now - connection.since)
    }`,
  ]];
  const fact = (name: string, at: number | null) => {
    if (at !== null) lines.push([`  ${name}`, `${ageText(now - at)} ago`]);
  };
  fact("opened", connection.opened_at);
  fact("last heartbeat written", connection.last_heartbeat_at);
  fact("last frame from Core", connection.last_inbound_at);
  fact("last pong from Core", connection.last_pong_at);
  if (connection.next_attempt_at !== null) {
    lines.push([
      "  next attempt",
      `number ${connection.attempt + 1} in ${
        ageText(connection.next_attempt_at - now)
      }`,
    ]);
  }
  for (
    const [name, each] of [
      ["last end", connection.last_end],
      ["last refusal", connection.last_refusal],
    ] as const
  ) {
    if (each === null) continue;
    lines.push([
      `  ${name}`,
      `${each.description}, ${ageText(now - each.at)} ago`,
    ]);
  }
  if (connection.shared_device_suspected) {
    lines.push([
      "  remark",
      "several short sessions: another daemon probably uses this device id",
    ]);
  }
  return lines;
}

function ownedText(document: StatusDocument): string {
  const counts = Object.entries(document.work).filter(([, count]) => count > 0);
  return counts.length === 0
    ? "nothing"
    : counts.map(([name, count]) => `${count} ${name.replaceAll("_", " ")}`)
      .join(", ");
}

function waitingLines({ document, now }: StatusView): [string, string][] {
  const { waiting } = document;
  if (waiting === null) return [];
  const what = waiting.for.length === 0 ? "the socket" : waiting.for.join(", ");
  return [[
    waiting.reason,
    `since ${ageText(now - waiting.since)}, waiting for ${what}`,
  ]];
}

/** A duration in its largest unit, such as `4 s` or `3 h`. */
export function ageText(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}

function instantText(at: number): string {
  return new Date(at).toISOString();
}
