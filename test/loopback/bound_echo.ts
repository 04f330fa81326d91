/** The echo Harness as a bound daemon would declare it. */
import { echoAdapter } from "../../src/cli/echo_harness.ts";
import type { HarnessAdapter } from "../../src/harness/contract.ts";

/** The echo in a bound workspace; its Turn ends by itself. */
export const boundEcho: HarnessAdapter = {
  kind: echoAdapter.kind,
  async discover(context) {
    const found = await echoAdapter.discover(context);
    if (!found?.factory) throw new Error("the echo is there");
    const { factory } = found;
    return {
      ...found,
      declaration: {
        ...found.declaration,
        environment_none: "unsupported",
        local_environment: "supported",
        workspace_read_preparation: "supported",
        workspace_output_export: "supported",
      },
      factory: {
        ...factory,
        async prepare(configuration, owner) {
          const executor = await factory.prepare(configuration, owner);
          return {
            retired: executor.retired,
            close: (signal) => executor.close(signal),
            async startTurn(start) {
              const started = await executor.startTurn(start);
              void started.turn?.cancel(start.signal);
              return started;
            },
          };
        },
      },
    };
  },
};
