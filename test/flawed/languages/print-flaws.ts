// npx tsx test/flawed/languages/print-flaws.ts
// Every flawed receiver in another language with the cases that convict it, and every right one with those that
// accuse it. Exits 1 when a flaw goes free, a right receiver is accused, or a language is not installed.
import { idsOf } from "../../support/testing/run-suite.js";
import { AUTHOR } from "../flaws.js";
import { FLAWS, HARMLESS } from "./flaws.js";
import {
  judgeReceiver,
  LANGUAGES,
  missingOf,
  startReceiver,
  workFolder,
  type Language,
} from "./language.js";

const problems: string[] = [];
say(`Author of the lists of flaws: ${AUTHOR}.`);
const { folder, remove } = workFolder();
try {
  for (const language of LANGUAGES) await print(language);
} finally {
  remove();
}
process.exitCode = problems.length === 0 ? 0 : 1;

async function print(language: Language): Promise<void> {
  const { name, serverFails = [] } = language;
  const missing = missingOf(language);
  if (missing !== undefined) {
    say(`${name} was NOT judged: ${missing}`);
    problems.push(missing);
    return;
  }
  const failedBy = async (flaw: string, cases?: readonly string[]): Promise<readonly string[]> => {
    const receiver = await startReceiver(language, folder, flaw);
    try {
      return idsOf(await judgeReceiver(receiver, cases), "failed");
    } finally {
      receiver.stop();
    }
  };

  say(`\n| a receiver in ${name} that … | is convicted by |\n| --- | --- |`);
  for (const [flaw, what, cases] of FLAWS[name]) {
    const failed = await failedBy(flaw, cases);
    const free = cases.filter((id) => !failed.includes(id));
    problems.push(...free);
    say(`| ${what} | ${[...failed, ...free.map((id) => `NOT by ${id}`)].join(", ")} |`);
  }
  say(`\n| a receiver in ${name} without a flaw | cases that fail |\n| --- | --- |`);
  const right = [["", "does what the gateway asks for"] as const, ...HARMLESS[name]];
  for (const [flaw, what] of right) {
    const accused = (await failedBy(flaw)).filter((id) => !serverFails.includes(id));
    problems.push(...accused);
    say(`| ${what} | ${accused.join(", ")} |`);
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
