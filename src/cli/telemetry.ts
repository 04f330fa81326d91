/** The choice of telemetry: none, or the exporter of the Deno that runs this program. */
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
