/** The network of the daemon as the settings want it: proxy and additional certificates. */
import { createNetwork, type Network } from "../transport/network.ts";
import { Mistake } from "./mistake.ts";
import type { Settings } from "./settings.ts";

/**
 * Creates the way to Core.
 *
 * @throws {Mistake} when the file of certificates cannot be used.
 */
export async function openNetwork(settings: Settings): Promise<Network> {
  const { authorityFile, proxy, noProxy } = settings.values;
  return createNetwork({
    proxy: {
      ...(proxy === undefined ? {} : { proxy }),
      ...(noProxy === undefined ? {} : { noProxy }),
    },
    ...(authorityFile === undefined
      ? {}
      : { certificateAuthorities: [await readAuthorities(authorityFile)] }),
  });
}

/** The longest file of certificates in bytes. */
const AUTHORITY_LIMIT = 1024 * 1024;

async function readAuthorities(path: string): Promise<string> {
  const refuse = (rule: string, fix: string) =>
    new Mistake({ place: path, rule, fix, exit: "configuration" });
  let text: string;
  try {
    if ((await Deno.stat(path)).size > AUTHORITY_LIMIT) {
      throw refuse("is longer than 1 MiB", "check --ca-file");
    }
    text = await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Mistake) throw error;
    throw refuse("cannot be read", "check --ca-file");
  }
  if (!/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/.test(text)) {
    throw refuse("holds no PEM certificate", "check --ca-file");
  }
  return text;
}
