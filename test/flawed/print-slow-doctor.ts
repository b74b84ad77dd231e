// npx tsx test/flawed/print-slow-doctor.ts
// The screen of doctor with an endpoint that needs a second for each answer, which takes two minutes. Exits 1 when the
// endpoint is accused. What `explain` names and reads is in test/kit/planted-faults.slow.test.ts and
// test/cli/explain-forms.test.ts.
import { spawn } from "node:child_process";
import http from "node:http";
import { nodeHandler } from "../../adapters/node.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { createLedger } from "../support/ledger.js";
import { listen } from "../support/servers.js";
import { ledgerReceiver } from "../support/testing/run-suite.js";

const ANSWER_MS = 1_000;
const ledger = createLedger();
const handle = nodeHandler(ledgerReceiver(ledger));
const server = http.createServer((req, res) => {
  const [, id] = /^\/handled\/(.+)$/.exec(req.url ?? "") ?? [];
  if (id !== undefined) {
    res.end(String(ledger.handled(decodeURIComponent(id))));
    return;
  }
  const end = res.end.bind(res) as (...args: unknown[]) => unknown;
  res.end = (...args: unknown[]) => {
    setTimeout(() => end(...args), ANSWER_MS);
    return res;
  };
  handle(req, res);
});
const { port, close } = await listen(server);
const base = `http://127.0.0.1:${port}`;
const doctor = ["tsx", "cli/main.ts", "doctor", `${base}/hook`];
process.stdout.write(
  `\nThe screen of doctor with an endpoint that answers in ${ANSWER_MS} ms:\n\n`,
);
const startedAt = performance.now();
const child = spawn("npx", [...doctor, "--handled", `${base}/handled/{id}`], {
  env: { ...process.env, GATEWAY_WEBHOOK_SECRET: TEST_SECRET },
  stdio: ["ignore", "ignore", "inherit"],
});
const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
await close();
const seconds = Math.round((performance.now() - startedAt) / 1_000);
process.stdout.write(`\nIt took ${seconds} s and exited with ${String(code)}.\n`);
process.exitCode = code === 0 ? 0 : 1;
