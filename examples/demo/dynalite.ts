import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { DynamoDB } from "@aws-sdk/client-dynamodb";
import { installServer } from "./install-server.js";

const require = createRequire(
  new URL("../../test/platforms/dynamodb/package.json", import.meta.url),
);

/** A server with the API of DynamoDB on this machine. Its data ends with it. */
export interface Dynalite {
  readonly url: string;
  readonly stop: () => Promise<void>;
}

/** Starts dynalite in its own process. Installs it and the AWS SDK first if they are missing. */
export async function startDynalite(): Promise<Dynalite> {
  const packages = await installServer("dynamodb", "dynalite and the AWS SDK");
  const program = fileURLToPath(new URL("node_modules/dynalite/cli.js", packages));
  const args = [program, "--host", "127.0.0.1", "--port", "0"];
  const child = spawn(process.execPath, [...args, "--createTableMs", "1"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const [line] = (await Promise.race([once(child.stdout, "data"), ended])) as [unknown];
  const [url] = /http:\S+/.exec(String(line)) ?? [];
  if (url === undefined) throw new Error("dynalite did not start");
  return {
    url,
    async stop() {
      child.kill();
      await ended;
    },
  };
}

/** A client of the AWS SDK for dynalite. */
export function openDynamoDB(endpoint: string) {
  // The SDK would warn once that its later releases need a later Node.
  process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] = "true";
  const sdk = require("@aws-sdk/client-dynamodb") as { DynamoDB: typeof DynamoDB };
  const credentials = { accessKeyId: "demo", secretAccessKey: "demo" };
  return new sdk.DynamoDB({ endpoint, region: "eu-central-1", credentials });
}
