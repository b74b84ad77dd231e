import { afterAll, beforeAll, expect, test } from "vitest";
import { installPackage, type InstalledPackage } from "../support/package/installed-package.js";
import { TEST_SECRET, alarm } from "../support/deliveries.js";

const NAME = "identity-gateway-webhooks";
const PLAIN = JSON.stringify({ alarm: alarm() });
/** Needs conversion, and therefore the schemas. */
const CONVERTED = JSON.stringify({ alarm: alarm({ account_id: "42" }) });

/** Defines `send(id, body)`, which signs one delivery and receives it with `library`. */
const RECEIVER = `
  const { createWebhookReceiver, signDelivery } = library;
  const secret = "${TEST_SECRET}";
  const accounts = [];
  const errors = [];
  const receiver = createWebhookReceiver({
    secret,
    logger: { warn() {}, error: (message) => errors.push(message) },
    handlers: { new_alarm: (alarm) => { accounts.push(alarm.account_id); } },
  });
  const send = async (id, body) => {
    const timestamp = Math.floor(Date.now() / 1000);
    const signature = await signDelivery({ secret, id, timestamp, body });
    const headers = {
      "x-webhook-id": id,
      "x-webhook-type": "new_alarm",
      "x-webhook-timestamp": String(timestamp),
      "x-webhook-signature": signature,
    };
    const { status, outcome } = await receiver.receive({ headers, body });
    return [status, outcome];
  };`;

/** Removes zod, sends a plain record and one that needs conversion, and restores zod. */
const WITHOUT_ZOD = `
  ${RECEIVER}
  const plain = await send("plain", ${JSON.stringify(PLAIN)});
  const failed = await send("converted", ${JSON.stringify(CONVERTED)});
  fs.renameSync("zod-away", "node_modules/zod");
  const recovered = await send("converted", ${JSON.stringify(CONVERTED)});
  const named = errors[0].includes("internal_error");
  console.log(JSON.stringify({ plain, failed, recovered, named }));`;
const ANSWERS = {
  plain: [200, "handled"],
  failed: [500, "internal_error"],
  recovered: [200, "handled"],
  named: true,
};

/** A loader of CommonJS files with `node:vm`, as in Jest. It refuses `import()`. */
const VM_LOADER = `
  const fs = require("node:fs");
  const path = require("node:path");
  const vm = require("node:vm");
  const { createRequire } = require("node:module");
  const cache = new Map();
  const load = (file) => {
    if (cache.has(file)) return cache.get(file).exports;
    const module = { exports: {} };
    cache.set(file, module);
    const own = createRequire(file);
    const requireFrom = (name) => {
      const target = own.resolve(name);
      return path.isAbsolute(target) ? load(target) : own(name);
    };
    const parameters = ["module", "exports", "require"];
    vm.compileFunction(fs.readFileSync(file, "utf8"), parameters, { filename: file })(
      module, module.exports, requireFrom,
    );
    return module.exports;
  };
  const library = load(require.resolve("${NAME}"));
  const loaded = () => [...cache.keys()].filter((file) => file.includes("zod")).length;`;

let esm: InstalledPackage;
let cjs: InstalledPackage;

beforeAll(() => {
  esm = installPackage("module");
  cjs = installPackage("commonjs");
});

afterAll(() => {
  esm.remove();
  cjs.remove();
});

function run(project: InstalledPackage, script: string, flags: readonly string[] = []): unknown {
  const file = project === esm ? "lazy.mjs" : "lazy.cjs";
  project.write(file, script);
  return JSON.parse(project.node([...flags, file]));
}

test("in ESM, a receiver without zod handles plain records and answers 500 to records that need conversion", () => {
  const script = `
      import fs from "node:fs";
      fs.renameSync("node_modules/zod", "zod-away");
      const library = await import("${NAME}");
      ${WITHOUT_ZOD}`;
  expect(run(esm, script)).toEqual(ANSWERS);
});

test("in CommonJS, a receiver without zod handles plain records and answers 500 to records that need conversion", () => {
  const script = `
      const fs = require("node:fs");
      (async () => {
        fs.renameSync("node_modules/zod", "zod-away");
        const library = require("${NAME}");
        ${WITHOUT_ZOD}
      })();`;
  expect(run(cjs, script, ["--no-experimental-require-module"])).toEqual(ANSWERS);
});

test("in CommonJS that refuses import(), as in Jest, the schemas are loaded by require", () => {
  const script = `${VM_LOADER}
      (async () => {
        ${RECEIVER}
        const plain = await send("plain", ${JSON.stringify(PLAIN)});
        const before = loaded();
        const converted = await send("converted", ${JSON.stringify(CONVERTED)});
        console.log(JSON.stringify({ plain, before, converted, after: loaded() > 0, accounts }));
      })();`;
  expect(run(cjs, script, ["--no-experimental-require-module"])).toEqual({
    plain: [200, "handled"],
    before: 0,
    converted: [200, "handled"],
    after: true,
    accounts: [42, 42],
  });
});
