import { readFileSync } from "node:fs";

/** A platform that is too large for the tests' own dependencies. */
export interface Platform {
  readonly name: string;
  /** The package whose version is reported. */
  readonly package: string;
  /** The folder of its app. */
  readonly folder: string;
  /** Run before the server, by Node. */
  readonly build?: readonly string[];
  /** The server, by Node. It listens on `PORT`. */
  readonly start: (port: number) => readonly string[];
  readonly path: string;
  /** A line that the server must not write. */
  readonly complaint?: string;
}

export const PLATFORMS: readonly Platform[] = [
  {
    name: "Nitro",
    package: "nitropack",
    folder: "nitro",
    build: ["../node_modules/nitropack/dist/cli/index.mjs", "build"],
    start: () => [".output/server/index.mjs"],
    path: "/webhook",
  },
  {
    name: "Next pages/api",
    package: "next",
    folder: "next",
    start: (port) => [
      "../node_modules/next/dist/bin/next",
      ...["dev", "--port", String(port), "--hostname", "127.0.0.1"],
    ],
    path: "/api/webhook",
    complaint: "API resolved without sending a response",
  },
];

export const HERE = new URL("./", import.meta.url);

/** The version that is installed. */
export function versionOf({ package: name }: Platform): string {
  const manifest = readFileSync(new URL(`node_modules/${name}/package.json`, HERE), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
