// Owns the translation of the runtime's network errors into closed words. Error texts of the
// runtime are dropped: they can repeat what a hostile peer sent.
import type { NetworkFault } from "./refusal.ts";

const BY_CODE: Readonly<Record<string, NetworkFault>> = {
  EAI_AGAIN: "name_not_found",
  ECONNABORTED: "connection_reset",
  ECONNREFUSED: "connection_refused",
  ECONNRESET: "connection_reset",
  ENOTFOUND: "name_not_found",
  EPIPE: "connection_reset",
  ETIMEDOUT: "timeout",
};

const CERTIFICATE_CODES =
  /^(CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_TLS_CERT|HOSTNAME_MISMATCH|INVALID_CA)/;

/** Names a failure of a socket or of an HTTP exchange. Never looks at text beyond fixed patterns. */
export function networkFault(error: unknown): NetworkFault {
  const { code, message } = readError(error);
  const known = BY_CODE[code];
  if (known !== undefined) return known;
  if (CERTIFICATE_CODES.test(code)) return "tls_certificate";
  if (/invalid peer certificate|UnknownIssuer|self-signed/i.test(message)) {
    return "tls_certificate";
  }
  if (code.startsWith("ERR_TLS") || code.startsWith("ERR_SSL")) return "tls";
  if (/\btls\b|\bssl\b|handshake|InvalidContentType/i.test(message)) {
    return "tls";
  }
  if (/timed out/i.test(message)) return "timeout";
  if (/socket hang up|closed before|connection reset/i.test(message)) {
    return "connection_reset";
  }
  if (
    code.startsWith("HPE_") || /invalid .*header|parse error/i.test(message)
  ) {
    return "bad_answer";
  }
  return "network";
}

function readError(error: unknown): { code: string; message: string } {
  if (!(error instanceof Error)) return { code: "", message: "" };
  const { code } = error as Error & { readonly code?: unknown };
  return { code: typeof code === "string" ? code : "", message: error.message };
}
