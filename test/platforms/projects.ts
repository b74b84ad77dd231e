import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { ENTRIES } from "../../release/entries.js";
import { installedVersion, pathIn } from "./install.js";

/** A project of a partner that is compiled or tested, and has no server. */
interface Project {
  readonly name: string;
  /** Its folder under `test/platforms/`, which `--only` takes. */
  readonly folder: string;
  readonly versionOf: string;
  readonly files: Readonly<Record<string, string>>;
  /** The program in its `node_modules/`, and its arguments. */
  readonly command: readonly [program: string, ...args: readonly string[]];
}

/** What became of one project: empty if nothing is wrong. */
export interface ProjectResult {
  readonly name: string;
  readonly version: string;
  readonly complaints: readonly string[];
}

const NAME = "identity-gateway-webhooks";
const HANDLERS = "{ new_alarm: (alarm) => void alarm.account_id }";

const TYPES = ENTRIES.map(({ name }, at) => {
  const from = name === "index" ? NAME : `${NAME}/${name}`;
  return `import * as entry${String(at)} from "${from}";\nvoid entry${String(at)};`;
});

/** Clients whose own types compile on the oldest TypeScript without `skipLibCheck`. Those of pg do not. */
const CLIENTS = `import Database from "better-sqlite3";
import { Redis } from "ioredis";
import Libsql from "libsql";
import mysql from "mysql2/promise";
import { createClient } from "redis";
import { mysqlStore, mysqlTransactions } from "${NAME}/mysql";
import { redisStore } from "${NAME}/redis";
import { sqliteStore, sqliteTransactions } from "${NAME}/sqlite";

for (const database of [new Database(""), new Libsql("")]) {
  sqliteStore({ database });
  sqliteTransactions({ database });
}
for (const make of [mysqlStore, mysqlTransactions]) make({ pool: mysql.createPool("") });
for (const client of [new Redis(), createClient()]) redisStore({ client });
`;

function typesUnder(
  folder: string,
  name: string,
  more: Readonly<Record<string, string>> = {},
): Project {
  const compilerOptions = {
    module: "nodenext",
    target: "es2022",
    strict: true,
    noEmit: true,
    skipLibCheck: false,
    types: ["node"],
  };
  return {
    name: `types under ${name}`,
    folder,
    versionOf: "typescript",
    files: {
      "tsconfig.json": JSON.stringify({ compilerOptions, include: ["*.ts"] }),
      "every-entry.ts": [
        ...TYPES,
        `import { createWebhookReceiver } from "${NAME}";`,
        `createWebhookReceiver({ secret: "", handlers: ${HANDLERS} });`,
        "",
      ].join("\n"),
      ...more,
    },
    command: ["typescript/bin/tsc", "-p", "."],
  };
}

const JEST_TEST = `const { createWebhookReceiver } = require("${NAME}");
const { receiverConformance, runOrSkip, TEST_SECRET: secret } = require("${NAME}/testing");

const runs = new Map();
const count = (_, { id }) => void runs.set(id, (runs.get(id) ?? 0) + 1);
const handlers = { new_alarm: count, delete_my_data_event: count };
const target = createWebhookReceiver({ secret, handlers, logger: false });
const handled = (id) => runs.get(id) ?? 0;

for (const one of receiverConformance({ target, secret, handled })) {
  test(one.title, runOrSkip(one), 60_000);
}
`;

/** TypeScript from the oldest that STABILITY.md names to the newest, and Jest as Nest sets it up. */
export const PROJECTS: readonly Project[] = [
  typesUnder("typescript-oldest", "the oldest TypeScript", {
    "clients.ts": CLIENTS,
    "sqlite.ts": readFileSync(new URL("../../examples/sqlite.ts", import.meta.url), "utf8"),
  }),
  typesUnder("typescript-6", "TypeScript 6"),
  typesUnder("typescript-7", "TypeScript 7"),
  {
    name: "a CommonJS project under Jest",
    folder: "loaders",
    versionOf: "jest",
    files: {
      "receiver.test.cjs": JEST_TEST,
      "jest.config.cjs": `module.exports = { testMatch: ["**/*.test.cjs"], rootDir: __dirname };\n`,
    },
    command: ["jest/bin/jest.js", "--ci", "--config", "jest.config.cjs"],
  },
];

/** Compiles or tests a project whose packages and files are there. */
export async function runProject(project: Project): Promise<ProjectResult> {
  const { name, folder, versionOf, command } = project;
  const [program, ...args] = command;
  const argv = [pathIn(folder, `node_modules/${program}`), ...args];
  const failure = await promisify(execFile)(process.execPath, argv, {
    cwd: pathIn(folder),
    maxBuffer: Infinity,
  }).then(
    () => undefined,
    (error: unknown) => {
      const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
      return `${stdout}${stderr}`.slice(0, 4_000) || String(error);
    },
  );
  const complaints = failure === undefined ? [] : [failure];
  return { name, version: installedVersion(folder, versionOf), complaints };
}
