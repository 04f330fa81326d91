// Owns every duration and count of the transport, each with its reason. All durations are
// milliseconds of the injected clock.

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** One HTTP request to Core, from the first byte to the last. */
export const HTTP_TIMEOUT = 10 * SECOND;
/** Body bytes read of a bootstrap answer; a longer one is refused. */
export const BOOTSTRAP_BODY_BYTES = 64 * 1024;
/** Body bytes read of a refusal, to find its error code. */
export const REFUSAL_BODY_BYTES = 4 * 1024;
/** From the dial to the open socket: name lookup, TCP, proxy, TLS and upgrade together. */
export const HANDSHAKE_TIMEOUT = 10 * SECOND;
/** Heartbeat interval when bootstrap names none. */
export const DEFAULT_HEARTBEAT_INTERVAL = 15 * SECOND;
/** A longer advertised interval is cut: timers do not hold more, and no Core waits that long. */
export const MAX_HEARTBEAT_INTERVAL = 24 * 60 * MINUTE;

/** Received frames waiting for the dispatcher; at this count the socket is no longer read. */
export const INBOUND_QUEUE_FRAMES = 64;
/** Frames accepted by `send` and not yet written; further calls wait for a slot. */
export const OUTBOUND_QUEUE_FRAMES = 64;
/**
 * Bytes handed to the socket and not yet taken by the system. Small enough that a slow peer shows
 * in the queue at once, large enough that frames leave in batches.
 */
export const SOCKET_WINDOW_BYTES = 256 * 1024;
/** The frame at the head of the queue must be written within this; Core uses the same. */
export const WRITE_DEADLINE = 10 * SECOND;
/** For the close frame to leave and be answered; then the socket is destroyed. */
export const CLOSE_DEADLINE = 1 * SECOND;
/** Longest pause between two pings; with a shorter heartbeat interval they go out together. */
export const MAX_PING_INTERVAL = 15 * SECOND;
/** Without a pong, a ping or a byte of data for this long the peer counts as gone. */
export const SILENCE_LIMIT = 45 * SECOND;
/**
 * Wall time running ahead of the timers by this much means that the machine slept. Core ends a
 * session after 60 s without data, so there is nothing left to save.
 */
export const SLEEP_LIMIT = 45 * SECOND;

/** Delay after the first failure. */
export const BACKOFF_BASE = 1 * SECOND;
/** Longest ordinary delay. */
export const BACKOFF_CAP = 30 * SECOND;
/** Growth from one delay to the next. */
export const BACKOFF_FACTOR = 2;
/** Share of a delay by which chance may move it, either way. */
export const BACKOFF_JITTER = 0.2;
/** Between the end of a session, after confirmed cleanup, and the next dial. */
export const SESSION_PAUSE = 1 * SECOND;
/** A session that lived this long proves a healthy link; only then do the delays start anew. */
export const STABLE_SESSION = MINUTE;
/**
 * Growth and cap of the delay after short sessions that ended without a close frame, as a second
 * daemon with the same device id causes them. Two such daemons connect at most four times each in
 * their first minute, and at most once a minute later: 75 s less 20 % is a minute.
 */
export const CONTESTED_FACTOR = 4;
/** See {@linkcode CONTESTED_FACTOR}. */
export const CONTESTED_CAP = 75 * SECOND;
/** Short sessions within {@linkcode FLAP_WINDOW} that make the daemon warn and slow down. */
export const FLAP_SESSIONS = 5;
/** See {@linkcode FLAP_SESSIONS}. */
export const FLAP_WINDOW = 5 * MINUTE;
/** Longest `Retry-After` that is honoured; a longer one counts as this. */
export const RETRY_AFTER_CAP = 5 * MINUTE;
/** Failed dials after which bootstrap is asked again, in case Core's public address changed. */
export const DIALS_PER_BOOTSTRAP = 10;

/** One attempt to resume a suspended session: dial, upgrade and the first frame together. */
export const RESUME_ATTEMPT = 30 * SECOND;

/** One wait for the router's shutdown; it goes on behind the wait. */
export const SHUTDOWN_WAIT = 5 * SECOND;
/** Between two waits for the router's shutdown. */
export const SHUTDOWN_PAUSE = 1 * SECOND;
