import { assert } from "@std/assert";
import { assertTextLifecycle } from "../support/text_lifecycle.ts";
import { withHarness, words } from "./harness_fixture.ts";

Deno.test("The scripted Harness keeps the text lifecycle", () =>
  withHarness(async ({ prepare, children }) => {
    const executor = await prepare();
    await assertTextLifecycle({
      executor,
      completingInput: words("say hello there"),
      activeInput: words("hold"),
      steeringInput: words("more"),
      turnReady: (sink) => sink.first((event) => event.type === "delta"),
      nativeOwner: () => {
        const [child] = children;
        assert(child);
        return `${children.length}/${child.pid}`;
      },
    });
  }));
