// The options of an Agent, and what the wire itself asks of harness_config.
import { judge, judgeText, type Members, NONE } from "./configurations.ts";
import { acceptEach, refuseEach } from "./wire_rows.ts";

/** A configuration text with the given harness_config text. */
function harness(text: string): string {
  return `{"disable_execution_environment":true,"agent_options":{"harness_config":${text}}}`;
}

/** A harness_config of exactly so many bytes. */
function sized(bytes: number): string {
  return `{"a":"${"x".repeat(bytes - '{"a":""}'.length)}"}`;
}

Deno.test("harness_config is one small object without repetition", async (t) => {
  await acceptEach(t, {
    "absent": '{"disable_execution_environment":true}',
    "no member": harness("{}"),
    "one member": harness('{"reasoning_effort":"low"}'),
    "same name in two objects": harness('{"a":{"x":1},"b":[{"x":1},{"x":2}]}'),
    "name that is also a value": harness('{"a":"b","b":"a"}'),
    "16,384 bytes": harness(sized(16_384)),
  }, judgeText);
  await refuseEach(t, {
    "null": harness("null"),
    "array": harness("[]"),
    "text": harness('"x"'),
    "number": harness("1"),
    "repeated member": harness('{"a":1,"a":2}'),
    "repeated member, equal": harness('{"a":1,"a":1}'),
    "repeated member, escaped": harness('{"a":1,"\\u0061":2}'),
    "repeated member, deep": harness('{"x":[{"y":{"a":1,"b":2,"a":3}}]}'),
    "16,385 bytes": harness(sized(16_385)),
    "16,385 bytes of two-byte characters": harness(
      `{"a":"${"é".repeat(8189)}"}`.replace('":"', '":"x'),
    ),
  }, judgeText);
});

Deno.test("only four agent options exist", async (t) => {
  const options = (agent_options: Members) => ({ ...NONE, agent_options });
  await acceptEach(t, {
    "model and prompt": options({ model: "m", system_prompt: "" }),
    "none": options({}),
  }, judge);
  await refuseEach(t, {
    "another": options({ permission_mode: "x" }),
    "another, null": options({ cwd: null }),
    "another case": options({ Model: "m" }),
    "prototype": JSON.parse(
      '{"disable_execution_environment":true,' +
        '"agent_options":{"__proto__":{}}}',
    ),
    "model of the wrong type": options({ model: 1 }),
    "null model": options({ model: null }),
    "prompt of the wrong type": options({ system_prompt: ["x"] }),
    "null provider": options({ model_provider: null }),
  }, judge);
});
