/** The enrol request: presents an executor credential and learns what it is bound to. */
import { z } from "zod";
import type { CoreUrl } from "../transport/core_url.ts";
import {
  type HttpContext,
  type HttpOutcome,
  requestCore,
} from "../transport/http_request.ts";
import { canonicalUuid, isCleanAbsolutePath } from "./setting.ts";

/** The longest answer that is read, in bytes. */
const ANSWER_LIMIT = 16_384;

const enrolAnswer = z.object({
  device_id: canonicalUuid,
  session_id: canonicalUuid,
  environment_id: canonicalUuid,
  workspace_directory: z.string().refine((path) =>
    isCleanAbsolutePath(path) && path !== "/"
  ),
});

/** What Core answered, checked. */
export type EnrolAnswer = z.infer<typeof enrolAnswer>;

/** The outcome of one request. `transient` may be tried again, the others not. */
export type EnrolOutcome =
  | { readonly kind: "enrolled"; readonly answer: EnrolAnswer }
  | { readonly kind: "transient"; readonly cause: string }
  | { readonly kind: "rejected"; readonly cause: string }
  | { readonly kind: "other_generation"; readonly cause: string }
  | { readonly kind: "malformed"; readonly cause: string };

/** What one request needs. */
export interface EnrolRequest {
  readonly core: CoreUrl;
  readonly environmentId: string;
  readonly credential: string;
  readonly userAgent: string;
}

/** Asks once, within 10 s. The causes are fixed words and numbers. */
export async function enrol(
  request: EnrolRequest,
  context: HttpContext,
): Promise<EnrolOutcome> {
  const outcome = await requestCore({
    url: `${request.core.base}/agent-daemon/enroll`,
    method: "POST",
    credential: request.credential,
    body: JSON.stringify({ environment_id: request.environmentId }),
    userAgent: request.userAgent,
    maximumBodyBytes: ANSWER_LIMIT,
  }, context);
  return judge(outcome, request.environmentId);
}

function judge(outcome: HttpOutcome, environmentId: string): EnrolOutcome {
  switch (outcome.kind) {
    case "fault":
      return { kind: "transient", cause: `enrol failed: ${outcome.fault}` };
    case "proxy_refused":
      return {
        kind: "transient",
        cause: `the proxy ${outcome.proxy} answered ${outcome.status}`,
      };
    case "answer":
      break;
  }
  const { status, body, tooLarge } = outcome.answer;
  const cause = `Core answered enrol with status ${status}`;
  if (status === 401 || status === 403 || status === 409) {
    return { kind: "rejected", cause };
  }
  if (status === 400 || status === 405 || (status >= 300 && status < 400)) {
    return { kind: "malformed", cause };
  }
  if (status !== 200) return { kind: "transient", cause };
  if (tooLarge) {
    return { kind: "malformed", cause: "Core's enrol answer is too long" };
  }
  return read(body, environmentId);
}

function read(body: string, environmentId: string): EnrolOutcome {
  let document: unknown;
  try {
    document = JSON.parse(body);
  } catch {
    return { kind: "malformed", cause: "Core's enrol answer is not JSON" };
  }
  if (
    typeof document === "object" && document !== null && "link_url" in document
  ) {
    return {
      kind: "other_generation",
      cause: "this Core expects a sandbox-link executor, not a Runtime daemon",
    };
  }
  const answer = enrolAnswer.safeParse(document);
  if (!answer.success) {
    return { kind: "malformed", cause: "Core's enrol answer is incomplete" };
  }
  return answer.data.environment_id === environmentId
    ? { kind: "enrolled", answer: answer.data }
    : {
      kind: "malformed",
      cause: "Core's enrol answer is for another Environment",
    };
}
