/** `version`: which program this is and which wire it speaks. */
import { PROTOCOL_VERSION } from "../protocol/version.ts";
import { BUILD_VERSION, PROGRAM } from "./build.ts";
import type { Invocation } from "./command.ts";
import type { Outside } from "./outside.ts";
import { EXIT_CODES } from "./exit_codes.ts";

/** Prints both versions, or one JSON document with the members name, version, protocol_version and platform. */
export function versionCommand(
  invocation: Invocation,
  outside: Outside,
): Promise<number> {
  const platform = `${outside.operatingSystem}-${Deno.build.arch}`;
  outside.stdout.write(
    invocation.options.has("json")
      ? `${
        JSON.stringify({
          name: PROGRAM,
          version: BUILD_VERSION,
          protocol_version: PROTOCOL_VERSION,
          platform,
        })
      }\n`
      : `${PROGRAM} ${BUILD_VERSION} (wire ${PROTOCOL_VERSION}, ${platform})\n`,
  );
  return Promise.resolve(EXIT_CODES.ok.code);
}
