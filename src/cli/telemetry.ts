/** The choice of telemetry: none, or the exporter of the Deno that runs this program. */
import { type Clock, sleep } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { noTelemetry, type Telemetry } from "../platform/telemetry.ts";
import { BUILD_VERSION } from "./build.ts";
import type { Outside } from "./outside.ts";

/**
 * What `OTEL_DENO` asks for. The API is loaded only then. A program whose Deno has no exporter says
 * so and goes on without.
 */
export async function chooseTelemetry(
  { environment }: Outside,
  log: Log,
): Promise<Telemetry> {
  const { OTEL_DENO: wanted } = environment;
  if (wanted !== "true" && wanted !== "1") return noTelemetry;
  const api = await import("../platform/telemetry_api.ts");
  if (api.hasExporter()) return api.openTelemetry(BUILD_VERSION);
  log.warn("telemetry_unavailable", {
    cause: "this program was built without an exporter, or tracing is off",
    remedy: "run it from source, or unset OTEL_DENO",
  });
  return noTelemetry;
}

/**
 * Lets a collection of metrics that waits for this thread run before the process ends: Deno blocks
 * for ever in an exit that finds one waiting. Two turns of the event loop; nothing without telemetry.
 */
export async function settleTelemetry(
  telemetry: Telemetry,
  clock: Clock,
): Promise<void> {
  if (telemetry === noTelemetry) return;
  await sleep(clock, 0);
  await sleep(clock, 0);
}
