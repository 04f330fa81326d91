import { assertEquals } from "@std/assert";
import { startWatchdog } from "../../src/service/watchdog.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

const environment = { WATCHDOG_USEC: "180000000", NOTIFY_SOCKET: "/run/x" };

Deno.test("the watchdog is fed at a third of its time, but only after progress", async () => {
  const clock = new VirtualClock();
  let fed = 0;
  const watchdog = startWatchdog({ environment, clock, notify: () => fed++ });
  assertEquals(fed, 1); // the start itself is progress
  await clock.advance(60_000);
  assertEquals(fed, 1);
  watchdog.progress();
  await clock.advance(60_000);
  assertEquals(fed, 2);
  await clock.advance(600_000);
  assertEquals(fed, 2);
  watchdog.stop();
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("outside of a supervising systemd nothing is fed and no timer is left", () => {
  for (
    const other of [
      {},
      { WATCHDOG_USEC: "180000000" },
      { NOTIFY_SOCKET: "/run/x", WATCHDOG_USEC: "0" },
    ]
  ) {
    const clock = new VirtualClock();
    let fed = 0;
    const watchdog = startWatchdog({
      environment: other,
      clock,
      notify: () => fed++,
    });
    watchdog.progress();
    assertEquals(fed, 0);
    assertEquals(clock.pendingTimers, 0);
    watchdog.stop();
  }
});
