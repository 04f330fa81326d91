import { assert } from "@std/assert";
import { textReply } from "../../../src/loopback/messages_provider.ts";
import { ClaudeLab, refutes, run, toolNames } from "./support.ts";

const NEUTRAL = { web_search: "disabled", text_verbosity: "medium" };

refutes(
  "web_search_control",
  "another value than disabled is refused",
  async () => {
    await using lab = await ClaudeLab.open();
    for (const web_search of ["cached", "live", "enabled", ""]) {
      assert(
        lab.harness.factory?.checkConfiguration(
          lab.configuration({ executionControls: { ...NEUTRAL, web_search } }),
        ),
      );
    }
  },
);

refutes("text_verbosity", "another value than medium is refused", async () => {
  await using lab = await ClaudeLab.open();
  for (const text_verbosity of ["low", "high", ""]) {
    assert(
      lab.harness.factory?.checkConfiguration(
        lab.configuration({
          executionControls: { ...NEUTRAL, text_verbosity },
        }),
      ),
    );
  }
});

refutes(
  "subagent_observations",
  "observing is refused and nothing is delegated",
  async () => {
    await using lab = await ClaudeLab.open({
      bound: true,
      script: () => textReply("msg_1", "alone"),
    });
    assert(
      lab.harness.factory?.checkConfiguration(
        lab.local({ observeSubagentIdentities: true, disableSubagents: false }),
      ),
    );
    const executor = await lab.prepare(lab.local({ disableSubagents: false }));
    await run(executor, "hello");
    assert(!toolNames(lab.provider.requests[0]).includes("Agent"));
  },
);
