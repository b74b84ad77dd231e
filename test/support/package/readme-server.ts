import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { freePort, isListening } from "../free-port.js";
import { readMarkdown } from "./markdown.js";

/** The server of the README's quick start, in a process of its own. */
export type ReadmeServer = Awaited<ReturnType<typeof startReadmeServer>>;

/**
 * Writes the README's `server.ts` to a partner's folder and starts it with the README's secret, on a free
 * port in place of 3000. The folder needs the package and `express`.
 */
export async function startReadmeServer(folder: string) {
  const { snippet } = readMarkdown("README.md");
  const port = await freePort();
  /** A text of the README with the port that the server has here. */
  const atPort = (text: string) => text.replaceAll("3000", String(port));
  const file = path.join(folder, "server.ts");
  writeFileSync(file, atPort(snippet("ts", "// server.ts")));
  const [, secret = ""] =
    /GATEWAY_WEBHOOK_SECRET=(\S+)/.exec(snippet("sh", "npx tsx server.ts")) ?? [];
  const server = spawn(process.execPath, ["--import", import.meta.resolve("tsx"), file], {
    env: { PATH: process.env["PATH"], GATEWAY_WEBHOOK_SECRET: secret },
    stdio: "ignore",
  });
  while (!(await isListening(port))) await wait(20);
  return { atPort, stop: () => server.kill() };
}
