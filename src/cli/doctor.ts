/** `doctor`: ordered checks of everything between this machine and a working Turn. */
import type { Invocation } from "./command.ts";
import { type Check, checkLine, fail, ok, skip, warn } from "./doctor_check.ts";
import { coreChecks } from "./doctor_core.ts";
import { harnessChecks } from "./doctor_harness.ts";
import {
  configurationCheck,
  credentialCheck,
  daemonChecks,
  identityCheck,
  programCheck,
  stateCheck,
  userCheck,
} from "./doctor_local.ts";
import { EXIT_CODES } from "./exit_codes.ts";
import { Mistake } from "./mistake.ts";
import type { Outside } from "./outside.ts";
import { systemServiceHost } from "./service_host.ts";
import { managerKind, managerOf, servicePlan } from "./service_plan.ts";
import { resolveSettings, type Settings } from "./settings.ts";
import { openNetwork } from "./way_out.ts";

/** Prints each check as it is done. Ends with 2 when one failed. */
export async function doctorCommand(
  invocation: Invocation,
  outside: Outside,
): Promise<number> {
  const json = invocation.options.has("json");
  const checks: Check[] = [];
  for await (const check of allChecks(invocation, outside)) {
    checks.push(check);
    if (!json) outside.stdout.write(`${checkLine(check)}\n`);
  }
  if (json) outside.stdout.write(`${JSON.stringify({ checks })}\n`);
  return checks.some((check) => check.result === "fail")
    ? EXIT_CODES.negative.code
    : EXIT_CODES.ok.code;
}

async function* allChecks(
  invocation: Invocation,
  outside: Outside,
): AsyncGenerator<Check> {
  yield programCheck(outside);
  yield userCheck(outside);
  let settings: Settings;
  try {
    settings = await resolveSettings(invocation, outside);
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    const { place, rule, fix } = error.parts;
    yield fail("configuration", `${place} ${rule}`, fix);
    yield skip("further checks", "need the configuration");
    return;
  }
  yield configurationCheck(settings);
  yield await stateCheck(settings, outside);
  const { check, loaded } = await credentialCheck(settings, outside);
  yield check;
  const { checks, identity } = await identityCheck(settings, loaded, outside);
  yield* checks;
  const daemon = await daemonChecks(settings, outside);
  yield* daemon.checks;
  if (invocation.options.has("offline")) yield skip("Core", "--offline");
  else if (identity === undefined || loaded === undefined) {
    yield skip("Core", "needs the identity and the token");
  } else {
    yield* await coreChecks({
      identity,
      token: loaded.credential.token,
      network: await openNetwork(settings),
      outside,
      running: daemon.running,
      connect: invocation.options.has("connect"),
    });
  }
  const service = await serviceChecks(invocation, settings, outside);
  yield* await harnessChecks(settings, outside, service.searchPath);
  yield* service.checks;
}

/** The installed service, and the search path in its definition. */
async function serviceChecks(
  invocation: Invocation,
  settings: Settings,
  outside: Outside,
): Promise<{ readonly checks: Check[]; readonly searchPath?: string }> {
  const host = systemServiceHost(outside);
  const plan = await servicePlan(invocation, settings, outside, host);
  const manager = managerOf(
    managerKind(invocation, outside),
    plan,
    outside,
    host,
  );
  const text = await host.read(manager.path);
  if (text === undefined) {
    return { checks: [skip("service", "not installed")] };
  }
  const state = await manager.state();
  const searchPath = /PATH=([^"\n]*)|<key>PATH<\/key>\s*<string>([^<]*)/.exec(
    text,
  );
  const path = searchPath?.[1] ?? searchPath?.[2];
  return {
    ...(path === undefined ? {} : { searchPath: path }),
    checks: [
      state.running
        ? ok("service", `${state.path} runs`)
        : warn("service", "does not run", "run: agent-daemon service start"),
      ...(state.enabled ? [] : [warn(
        "service",
        "is not enabled",
        "run: agent-daemon service install",
      )]),
      ...state.notes.map((note) => warn("service", note, "see service status")),
    ],
  };
}
