// Owns the four members of `agent_options`. Any other member refuses the configuration.
import { accepted, type Decoded, refused } from "./decoded.ts";
import { checkModelProvider, type ModelProvider } from "./model_provider.ts";
import { isJsonObject } from "./wire_object.ts";

/** The options of an Agent. Absent members were not set; `harness_config` is the Harness's to judge. */
export interface AgentOptions {
  readonly model?: string;
  readonly system_prompt?: string;
  readonly model_provider?: ModelProvider;
  readonly harness_config?: Readonly<Record<string, unknown>>;
}

/** Reads the options of a configuration; absent options read as none. */
export function readAgentOptions(
  options: Readonly<Record<string, unknown>> = {},
): Decoded<AgentOptions> {
  const read: { -readonly [K in keyof AgentOptions]: AgentOptions[K] } = {};
  for (const [name, value] of Object.entries(options)) {
    switch (name) {
      case "model":
      case "system_prompt":
        if (typeof value !== "string") {
          return refused("an agent option is not text");
        }
        read[name] = value;
        break;
      case "model_provider": {
        const provider = checkModelProvider(value);
        if (!provider.ok) return provider;
        read.model_provider = provider.value;
        break;
      }
      case "harness_config":
        if (!isJsonObject(value)) {
          return refused("the harness configuration is not an object");
        }
        read.harness_config = value;
        break;
      default:
        return refused("an agent option is not allowed");
    }
  }
  return accepted(read);
}
