import { afterAll, beforeAll, expect, it } from "vitest";
import { missingPrometheus } from "../alerts/prometheus.js";
import { freshClone, type FreshClone } from "../support/package/fresh-clone.js";
import { repositoryCommands } from "../support/package/repository-commands.js";
import { hasPostgres } from "../support/postgres/postgres-server.js";

/** It prints nothing of its own: it ends, with exit code 0. */
const ENDS = undefined;

/** Every command, and the first line that shows that it does its work: past what it installs and compiles. */
const FIRST_LINES: Readonly<Record<string, RegExp | undefined>> = {
  "npm run demo": /handled once, \d+ lost/,
  "npm run demo -- --monitor": /handled once, \d+ lost/,
  "npm run demo -- --store d1": /^The gateway delivers to/m,
  // Installs and starts its server as D1's.
  "npm run demo -- --store dynamodb": /^installing dynalite/m,
  "npm run demo -- --store sqlite": /^The gateway delivers to/m,
  "npm run fuzz": /RUN {2}v/,
  "npm run mutation": /Instrumented \d+ source file/,
  "npm run faults": /^.+: started$/m,
  "npm run alerts": /^simulating a month/m,
  "npm run flaws": /^judging \d+ receivers/m,
  "npx tsx test/model/print-model.ts": /exploring the models/,
  "npx tsx test/flawed/languages/print-flaws.ts": /a receiver in Python|NOT judged/,
  "npm run platforms": /^installing the packages of/m,
  "npm run generate": ENDS,
  "npm run docs:build": /reading the API from the docstrings/,
  "node fixtures/generate.mjs": ENDS,
  "npm run bench": /measuring in-process/,
  "npm run bench:check": /^run 1: /m,
  "npm run bench -- stores": /the engine and 2 receivers run/,
  "npm run bench -- queues": /the engine and 2 receivers run/,
  "npm run bench -- soak": /the receiver runs/,
  "npm run bench -- telemetry": /^measuring /m,
  "npm run release:check": /[✓✗] the tree is clean/,
  "npm run format": /^\S+ \d+ms/m,
  "npx vitest test/handling": /(?:RUN|DEV) {2}v/,
  "npx vitest run --project quick-web test/receiver": /RUN {2}v/,
};

/** Commands that do not start here, and why. */
const LEFT_OUT: readonly (readonly [command: RegExp, reason: string])[] = [
  [/^npm (?:test|run test:all)\b/, ".ci/run runs it in a fresh clone"],
  [/^npm run build$/, "`npm run test:all` begins with it"],
  [/^npm run check$/, ".ci/run runs it"],
  [/^npm run release$/, "it publishes"],
  [
    /^npm run demo -- --store (?:redis|postgres|mysql)/,
    "the tests of the demo start a server for it",
  ],
  [/^npm run demo -- (?:folder|path\/)/, "the words stand for something of the reader's"],
  [
    /^npm run bench -- stores (?:…|--only .* --before )/,
    "the words stand for something of the reader's",
  ],
  [/^npm run bench -- (?:in-process|http)$/, "`npm run bench` starts all parts"],
  [/^npm run bench -- (?:stores --(?:remembered|node PATH)|soak --only .*)$/, "as without options"],
  [/^npm run (?:faults -- --seed N|platforms -- --fast)$/, "as without options"],
  [/^npm run platforms -- peers\b/, "it begins as `npm run platforms`"],
  [/^npx tsx test\/support\/sqlite\/build-driver/, "it has a test of its own"],
  [/^npx vitest run --coverage$/, "it needs what `npm run test:all` prepares"],
  [/^npx tsx test\/flawed\/print-(?:flaws|tools)/, "a part of `npm run flaws`"],
  [/^npx tsx test\/site\/screenshots/, "it needs Chromium and the built site"],
  [/^npx tsx examples\//, "the tests of the examples start each, after `npm run build`"],
];

const MISSING: Readonly<Record<string, string | undefined>> = {
  "npm run alerts": missingPrometheus,
  "npm run bench -- stores": hasPostgres ? undefined : "no PostgreSQL",
  "npm run bench -- queues": hasPostgres ? undefined : "no PostgreSQL",
  "npm run bench -- soak": hasPostgres ? undefined : "no PostgreSQL",
};

const commands = repositoryCommands();
const isLeftOut = (command: string): boolean => LEFT_OUT.some(([left]) => left.test(command));

let clone: FreshClone;

beforeAll(() => {
  clone = freshClone();
});
afterAll(() => {
  clone.remove();
});

it("every command that the documents or package.json name is in the table, or left out for a reason", () => {
  const unknown = commands.filter((command) => !(command in FIRST_LINES) && !isLeftOut(command));
  expect(unknown).toEqual([]);
});

it("every command of the table is named by a document or by package.json", () => {
  expect(Object.keys(FIRST_LINES).filter((command) => !commands.includes(command))).toEqual([]);
  expect(LEFT_OUT.filter(([left]) => !commands.some((one) => left.test(one)))).toEqual([]);
});

it.for(Object.keys(FIRST_LINES))(
  "%s works as the first command in a fresh clone",
  async (command, context) => {
    const missing = MISSING[command];
    if (missing !== undefined) {
      expect(process.env["CI"], missing).not.toBe("true");
      context.skip(missing);
    }
    const until = FIRST_LINES[command];
    const { output, hasBegun, code } = await clone.start(command, until);
    if (until === ENDS) expect(code, output).toBe(0);
    else expect(hasBegun, output).toBe(true);
  },
);
