/**
 * The parts of the native protocol this adapter depends on, written down by hand, and their
 * comparison with the schema that an installed program generates. Unknown additions are no
 * difference; what is missing or has another type is named.
 */

/** A JSON type, as the schema names it; a list when several are taken. */
type FieldType = string | readonly string[];

/** Members of one message: name to type. A `?` at the end of the name allows its absence. */
type Fields = Readonly<Record<string, FieldType>>;

/** Requests this adapter sends: the parameters it fills in. */
export const SENT: Readonly<Record<string, Fields>> = {
  "initialize": { clientInfo: "object", "capabilities?": "object" },
  "config/read": { "cwd?": "string", "includeLayers?": "boolean" },
  "configRequirements/read": {},
  "skills/extraRoots/set": { extraRoots: "array" },
  "thread/start": {
    "cwd?": "string",
    "model?": "string",
    "modelProvider?": "string",
    "approvalPolicy?": ["string", "object"],
    "sandbox?": "string",
    "developerInstructions?": "string",
    "config?": "object",
    "environments?": "array",
    "dynamicTools?": "array",
    "historyMode?": "string",
  },
  "thread/resume": {
    threadId: "string",
    "excludeTurns?": "boolean",
    "cwd?": "string",
    "model?": "string",
    "modelProvider?": "string",
    "developerInstructions?": "string",
    "config?": "object",
  },
  "thread/list": {
    "archived?": "boolean",
    "limit?": "integer",
    "modelProviders?": "array",
    "sourceKinds?": "array",
    "useStateDbOnly?": "boolean",
  },
  "thread/read": { threadId: "string", "includeTurns?": "boolean" },
  "thread/backgroundTerminals/list": {
    threadId: "string",
    "limit?": "integer",
  },
  "thread/backgroundTerminals/terminate": {
    threadId: "string",
    processId: "string",
  },
  "turn/start": {
    threadId: "string",
    input: "array",
    "clientUserMessageId?": "string",
    "environments?": "array",
    "outputSchema?": "any",
  },
  "turn/steer": {
    threadId: "string",
    expectedTurnId: "string",
    input: "array",
    "clientUserMessageId?": "string",
  },
  "turn/interrupt": { threadId: "string", turnId: "string" },
};

/** Notifications this adapter reads: the members it needs. */
export const NOTIFIED: Readonly<Record<string, Fields>> = {
  "turn/started": { threadId: "string", turn: "object" },
  "turn/completed": { threadId: "string", turn: "object" },
  "item/started": { threadId: "string", turnId: "string", item: "object" },
  "item/completed": { threadId: "string", turnId: "string", item: "object" },
  "item/agentMessage/delta": {
    threadId: "string",
    turnId: "string",
    itemId: "string",
    delta: "string",
  },
  "item/reasoning/summaryTextDelta": {
    threadId: "string",
    turnId: "string",
    itemId: "string",
    delta: "string",
  },
  "item/reasoning/textDelta": {
    threadId: "string",
    turnId: "string",
    itemId: "string",
    delta: "string",
  },
  "thread/tokenUsage/updated": {
    threadId: "string",
    turnId: "string",
    tokenUsage: "object",
  },
  "error": {
    threadId: "string",
    turnId: "string",
    error: "object",
    willRetry: "boolean",
  },
  "serverRequest/resolved": {
    threadId: "string",
    requestId: ["string", "integer"],
  },
  "mcpServer/startupStatus/updated": { name: "string", status: "string" },
};

/** Requests of the program that this adapter answers. */
export const ASKED: Readonly<Record<string, Fields>> = {
  "item/tool/call": {
    threadId: "string",
    turnId: "string",
    callId: "string",
    tool: "string",
    arguments: "any",
  },
  "item/tool/requestUserInput": {
    threadId: "string",
    turnId: "string",
    questions: "array",
  },
  "item/commandExecution/requestApproval": {
    threadId: "string",
    turnId: "string",
    itemId: "string",
  },
  "item/fileChange/requestApproval": {
    threadId: "string",
    turnId: "string",
    itemId: "string",
  },
  "item/permissions/requestApproval": {
    threadId: "string",
    turnId: "string",
  },
  "mcpServer/elicitation/request": {
    threadId: "string",
    serverName: "string",
  },
};

/** One difference between what the adapter needs and what the program offers. */
export interface Difference {
  readonly method: string;
  /** Absent when the whole method is missing. */
  readonly member?: string;
  readonly kind: "missing" | "optional" | "type" | "newly_required";
}

/** The generated schema files this comparison reads. */
export interface GeneratedSchemas {
  readonly clientRequest: unknown;
  readonly serverNotification: unknown;
  readonly serverRequest: unknown;
}

type Schema = Readonly<Record<string, unknown>>;

/** Names each difference; an empty list means that the adapter's assumptions hold. */
export function compareNativeSchema(generated: GeneratedSchemas): Difference[] {
  return [
    ...compareAll(SENT, generated.clientRequest, "sent"),
    ...compareAll(NOTIFIED, generated.serverNotification, "read"),
    ...compareAll(ASKED, generated.serverRequest, "read"),
  ];
}

function compareAll(
  methods: Readonly<Record<string, Fields>>,
  root: unknown,
  direction: "sent" | "read",
): Difference[] {
  return Object.entries(methods).flatMap(([method, fields]) => {
    const parameters = parametersOf(asSchema(root), method);
    if (!parameters) return [{ method, kind: "missing" as const }];
    return compareMethod(method, fields, parameters, asSchema(root), direction);
  });
}

function compareMethod(
  method: string,
  fields: Fields,
  parameters: readonly Schema[],
  root: Schema,
  direction: "sent" | "read",
): Difference[] {
  const differences: Difference[] = [];
  for (const [written, type] of Object.entries(fields)) {
    const optional = written.endsWith("?");
    const member = optional ? written.slice(0, -1) : written;
    const found = parameters.map((each) => asSchema(each.properties)[member])
      .find((schema) => schema !== undefined);
    if (found === undefined) {
      differences.push({ method, member, kind: "missing" });
      continue;
    }
    const types = typesOf(asSchema(found), root);
    const wanted = typeof type === "string" ? [type] : type;
    const fits = types.includes("any") || wanted.includes("any") ||
      wanted.some((each) => types.includes(each));
    if (!fits) differences.push({ method, member, kind: "type" });
    const always = parameters.every((each) => required(each).includes(member));
    if (direction === "read" && !optional && !always) {
      differences.push({ method, member, kind: "optional" });
    }
  }
  if (direction === "sent") {
    const known = Object.keys(fields).map((name) => name.replace(/\?$/, ""));
    for (const member of parameters.flatMap(required)) {
      if (!known.includes(member)) {
        differences.push({ method, member, kind: "newly_required" });
      }
    }
  }
  return differences;
}

/** The parameter objects of a method: one, or one for each variant. */
function parametersOf(root: Schema, method: string): Schema[] | undefined {
  const variant = asList(root.oneOf).find((each) => {
    const name = asSchema(asSchema(each.properties).method);
    return asList(name.enum).includes(method as never) || name.const === method;
  });
  if (!variant) return undefined;
  const parameters = resolve(
    asSchema(asSchema(variant.properties).params),
    root,
  );
  const variants = asList(parameters.oneOf ?? parameters.anyOf);
  const shared = asSchema(parameters.properties);
  return variants.length === 0
    ? [parameters]
    : variants.map((each) => merge(resolve(each, root), shared, parameters));
}

function merge(variant: Schema, shared: Schema, parent: Schema): Schema {
  return {
    ...variant,
    properties: { ...shared, ...asSchema(variant.properties) },
    required: [...required(variant), ...required(parent)],
  };
}

function typesOf(schema: Schema, root: Schema): string[] {
  const resolved = resolve(schema, root);
  const { type } = resolved;
  if (typeof type === "string") return [type];
  if (Array.isArray(type)) return type.map(String);
  const variants = [resolved.oneOf, resolved.anyOf, resolved.allOf].flatMap(
    asList,
  );
  if (variants.length > 0) {
    return variants.flatMap((each) => typesOf(each, root));
  }
  return ["any"];
}

function resolve(schema: Schema, root: Schema): Schema {
  const reference = schema.$ref;
  if (typeof reference !== "string") return schema;
  let found: unknown = root;
  for (const step of reference.replace(/^#\//, "").split("/")) {
    found = asSchema(found)[step];
  }
  return asSchema(found);
}

function required(schema: Schema): string[] {
  return Array.isArray(schema.required) ? schema.required.map(String) : [];
}

function asSchema(value: unknown): Schema {
  return typeof value === "object" && value !== null ? value as Schema : {};
}

function asList(value: unknown): Schema[] {
  return Array.isArray(value) ? value : [];
}
