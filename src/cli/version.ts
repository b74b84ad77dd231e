import { createRequire } from "node:module";

/** The version of this package. By its own name, which is found from the sources and from the build. */
export function readVersion(): string {
  const load = createRequire(import.meta.url);
  const { version } = load("identity-gateway-webhooks/package.json") as { version: string };
  return version;
}
