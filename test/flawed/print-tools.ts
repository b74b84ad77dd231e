// npx tsx test/flawed/print-tools.ts [--quick]
// What the tools show: the planted faults that explain names, by kind, the forms of a delivery that it reads, and the
// screen of doctor with an endpoint that needs a second for each answer. Exits 1 when a fault is misnamed, a form is
// not read, or the endpoint is accused. With --quick the last part, which takes two minutes, is left out.
import { spawn } from "node:child_process";
import http from "node:http";
import { nodeHandler } from "../../adapters/node.js";
import { diagnoseSignature } from "../../kit/diagnosis/diagnose-signature.js";
import { parseCapturedRequest } from "../../kit/diagnosis/parse-captured-request.js";
import { FORMS } from "../kit/capture-forms.js";
import { ALARM_BODY, NOW_MS, SECRET, TEST_SECRET } from "../kit/diagnosis-capture.js";
import { PLANTED_FAULTS, type PlantedFault } from "../kit/planted-faults.js";
import { createLedger } from "../support/ledger.js";
import { listen } from "../support/servers.js";
import { ledgerReceiver } from "../support/testing/run-suite.js";
import { AUTHOR } from "./flaws.js";

const ANSWER_MS = 1_000;
const problems: string[] = [];

say(`Author of the lists of faults and forms: ${AUTHOR}.\n`);
say("| kind of fault | planted | named with the test secret | named with another |");
say("| --- | --- | --- | --- |");
let planted = 0;
for (const [kind, faults] of Object.entries(PLANTED_FAULTS)) {
  planted += faults.length;
  const counts = [await countNamed(faults, TEST_SECRET), await countNamed(faults, SECRET)];
  say(`| ${kind} | ${faults.length} | ${counts.join(" | ")} |`);
}
say(`\n| form of a delivery | read byte for byte, and judged good |\n| --- | --- |`);
for (const [form, capture] of FORMS) say(`| ${form} | ${await readsForm(form, capture)} |`);
if (!process.argv.includes("--quick")) await showSlowDoctor();
say(`\n${planted} planted faults, ${FORMS.length} forms, ${problems.length} problems`);
for (const problem of problems) say(`- ${problem}`);
process.exitCode = problems.length === 0 ? 0 : 1;

/** How many of the faults the first finding names. */
async function countNamed(faults: readonly PlantedFault[], secret: string): Promise<number> {
  let named = 0;
  for (const { what, code, plant } of faults) {
    const { findings } = await diagnoseSignature(plant(secret));
    if (findings[0]?.code === code) named += 1;
    else problems.push(`${what}: ${findings[0]?.code ?? "nothing"} in place of ${code}`);
  }
  return named;
}

async function readsForm(form: string, capture: string): Promise<string> {
  try {
    const request = parseCapturedRequest(capture);
    const { result } = await diagnoseSignature({ ...request, now: NOW_MS, secret: SECRET });
    if (result === "good" && Buffer.from(request.body).toString() === ALARM_BODY) return "yes";
  } catch {
    // Counted below.
  }
  problems.push(`${form} is not read`);
  return "NO";
}

/** Prints what doctor writes while it judges a right receiver that answers after a second. */
async function showSlowDoctor(): Promise<void> {
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
  const argv = [
    "tsx",
    "cli/main.ts",
    "doctor",
    `${base}/hook`,
    "--handled",
    `${base}/handled/{id}`,
  ];
  say(`\nThe screen of doctor with an endpoint that answers in ${ANSWER_MS} ms:\n`);
  const startedAt = performance.now();
  const child = spawn("npx", argv, {
    env: { ...process.env, GATEWAY_WEBHOOK_SECRET: TEST_SECRET },
    stdio: ["ignore", "ignore", "pipe"],
  });
  child.stderr.pipe(process.stdout, { end: false });
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  await close();
  say(
    `\nIt took ${Math.round((performance.now() - startedAt) / 1_000)} s and exited with ${String(code)}.`,
  );
  if (code !== 0) problems.push("doctor accused a right receiver");
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
