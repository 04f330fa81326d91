/** Makes the owners that one Turn's frames belong to; each Turn has its own. */
import type { TurnEvent } from "../../src/harness/contract.ts";
import type { Ids } from "../../src/platform/ids.ts";
import type { ControlChannel } from "./control_channel.ts";
import { FunctionCalls } from "./function_calls.ts";
import { InputLedger } from "./input_ledger.ts";
import { Interactions } from "./interactions.ts";
import { RunUsage } from "./run_usage.ts";
import { StructuredOutput } from "./structured_output.ts";
import { TextItems } from "./text_items.ts";
import { type McpIdentity, ToolObservations } from "./tool_observations.ts";
import type { TurnParts } from "./turn_reader.ts";

/** What the parts need of their surroundings. */
export interface TurnPartsHost {
  readonly ids: Ids;
  readonly control: ControlChannel;
  readonly observeMessages: boolean;
  readonly structuredOutput: boolean;
  mcpIdentity(name: string): McpIdentity | undefined;
}

/** Fresh parts; `emit` takes their events in order. */
export function turnParts(
  host: TurnPartsHost,
  emit: (event: TurnEvent) => void,
): TurnParts {
  return {
    ledger: new InputLedger(),
    text: new TextItems(host.observeMessages, emit),
    tools: new ToolObservations(emit, (name) => host.mcpIdentity(name)),
    functions: new FunctionCalls(emit),
    interactions: new Interactions(
      emit,
      host.ids,
      (id, body) => host.control.reply(id, body),
    ),
    usage: new RunUsage(emit),
    ...(host.structuredOutput
      ? { structured: new StructuredOutput(emit) }
      : {}),
  };
}
