/**
 * The check of a final text against the schema of a structured output. The engine passes the schema
 * to the provider and believes the answer; this is where it is enforced.
 */
import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";

/** Whether a final text conforms. */
export type StructuredCheck = (text: string) => boolean;

/** Why the schema cannot be checked; `undefined` when it can. */
export function checkSchema(schema: unknown): string | undefined {
  return compile(schema) ? undefined : "the output schema cannot be compiled";
}

/** The check of `schema`; `undefined` when it cannot be compiled. */
export function compile(schema: unknown): StructuredCheck | undefined {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
    return undefined;
  }
  const dialect = (schema as Record<string, unknown>).$schema;
  const draft7 = typeof dialect === "string" && dialect.includes("draft-07");
  const options = {
    strict: false,
    validateFormats: false,
    logger: false,
  } as const;
  try {
    const validate = (draft7 ? new Ajv(options) : new Ajv2020(options))
      .compile(schema);
    return (text) => {
      const value = parse(text);
      return value !== undefined && validate(value.json) === true;
    };
  } catch (error) {
    if (error instanceof Error) return undefined; // whatever it is, it compiles to no check
    throw error;
  }
}

function parse(text: string): { readonly json: unknown } | undefined {
  try {
    return { json: JSON.parse(text) };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
