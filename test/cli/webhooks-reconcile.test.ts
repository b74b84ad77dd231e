import { utimesSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { shapeOf } from "../../cli/webhooks/history.js";
import * as library from "../../src/index.js";
import { sampleAlarm } from "../../kit/index.js";
import { canaryAlarm, canariesIn } from "../support/canaries.js";
import { expectEnd, runCommand } from "../support/cli/cli-io.js";
import { desk } from "../support/management/desk.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = temporaryFolder();

beforeEach(() => {
  // For modules of `--module`, which cannot import the sources.
  vi.stubGlobal("library", library);
});

const SECRET = "the-secret-of-the-receiver-1";
const FIELDS = "deliveryId=delivery_id,status=status,at=created_at,body=body";
const SINCE = `--since 1h --fields ${FIELDS}`;

/** A gateway with a webhook whose URL answers each GET with 200 and each delivery with this. */
async function setUp(status = 403, page = "", gatewayOptions: object = {}) {
  const gateway = await desk.gateway(gatewayOptions);
  const { url, close } = await desk.server((req, res) => {
    res.writeHead(req.method === "GET" ? 200 : status).end(page);
  });
  const webhook = await gateway.register(url, SECRET);
  const env = await gateway.environment(SECRET);
  const run = (commandLine: string, ...more: string[]) => {
    const [name = "", ...options] = commandLine.split(" ");
    const argv = ["webhooks", name, url, ...options, ...more];
    return runCommand(argv, { env, isTTY: true, columns: 80 });
  };
  const deliverThree = () =>
    gateway.api.twin.deliverMany(Array.from({ length: 3 }, () => ({ alarm: sampleAlarm() })));
  return { ...gateway, webhook, env, run, deliverThree, close };
}

describe("reconcile", () => {
  test("lists what was lost, as a table, JSON and metrics, and --recover handles it once", async () => {
    const { run, deliverThree } = await setUp(403, "<html>blocked</html>");
    const { lost } = await deliverThree();
    const ids = lost.map(({ id }) => id);

    const table = await run(`reconcile ${SINCE}`);
    await expectEnd(Promise.resolve(table), { code: 1, stdout: ["3 lost", ...ids] });
    const lines = stripVTControlCharacters(table.stdout).split("\n");
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    const json = { missing: [{}, {}, {}], passed: false };
    await expectEnd(run(`reconcile ${SINCE} --json`), { json, never: "account_id" });
    const metrics = '{state="given_up"} 3';
    await expectEnd(run(`reconcile ${SINCE} --prometheus`), { stdout: metrics });
    const completed = folder.write("ids.txt", `${ids.join("\n")}\n`);
    await expectEnd(run(`reconcile ${SINCE} --completed ${completed}`), { code: 0 });

    const module = folder.write(
      "receiver.mjs",
      `const { createWebhookReceiver, memoryStore } = globalThis.library;
       globalThis.recoveredIds ??= [];
       export const receiver = createWebhookReceiver({
         store: memoryStore(), secret: "any-secret-will-do-here", logger: false,
         handlers: { new_alarm: (_alarm, { id }) => void globalThis.recoveredIds.push(id) },
       });
       export const isCompleted = (id) => globalThis.recoveredIds.includes(id);`,
    );
    let recover = `reconcile ${SINCE} --module ${module} --recover`;
    const emptyStore = "the memory store of --module is empty";
    await expectEnd(run(recover), { code: 2, stderr: emptyStore, stdout: "" });
    const none = folder.write("none.txt", "");
    const noIds = run(`${recover.replace(module, durableModule())} --completed ${none}`);
    await expectEnd(noIds, { code: 2, stderr: "--completed is empty" });
    recover += " --handle-again";
    await expectEnd(run(recover), { code: 0, stdout: "3 recovered" });
    await expectEnd(run(recover), { code: 0, stdout: "3 handled before" });
    const { recoveredIds } = globalThis as unknown as { recoveredIds: string[] };
    expect(recoveredIds.toSorted()).toEqual(ids.toSorted());
  });

  test("counts what a proxy acknowledged in place of the receiver", async () => {
    const { run, deliverThree } = await setUp(200, "<html>Welcome</html>");
    const { deliveries } = await deliverThree();
    const unchecked = ["2xx are not checked", "~ 0 lost"];
    await expectEnd(run(`reconcile ${SINCE}`), { code: 0, stdout: unchecked });
    const reason = "answered 200 at attempt 1, by whom is not known";
    expect(deliveries).toMatchObject([{ reason }, { reason }, { reason }]);
    const ids = folder.write("ids.txt", `${deliveries[0]?.id ?? ""}\n`);
    const command = `reconcile ${SINCE} --completed ${ids}`;
    const unknown = "acknowledged at the gateway, unknown to your store: 2";
    await expectEnd(run(command), { code: 1, stdout: [unknown, "3 acknowledged ids compared"] });
    const missing = [{ isAcknowledged: true }, { isAcknowledged: true }];
    const acknowledged = { compared: 3, unhandled: 0, forgotten: 0, later: 0 };
    await expectEnd(run(`${command} --json`), { json: { missing, acknowledged } });
    // A list that is older than the deliveries says nothing of them.
    utimesSync(ids, 0, 0);
    await expectEnd(run(command), { code: 0, stdout: "3 later" });
  });

  test.each([`reconcile ${SINCE}`, `history --fields ${FIELDS}`])(
    "and history fail for a URL without a webhook: %s",
    async (command) => {
      const { run, client } = await setUp();
      await client.webhooks.delete(1);
      await expectEnd(run(command), { code: 1, stderr: "(not_found)" });
    },
  );

  test("refuses a since in the future", async () => {
    const { run } = await setUp();
    const later = run(`reconcile --since 2999-01-01T00:00:00Z --fields ${FIELDS}`);
    await expectEnd(later, { code: 2, stderr: "in the future" });
  });

  const recoverOnly = "internal: { recover: () => {} }";
  test.each([
    ["export const receiver = {};", "a module that exports receiver", "--recover"],
    [`export const receiver = { ${recoverOnly} };`, "a module that exports receiver", "--recover"],
    ['export const isCompleted = () => { throw new Error("canary"); };', "isCompleted of", ""],
    ["export const readAttempt = {};", "readAttempt of", ""],
  ])(
    "tells what is wrong with a module, in one line and without its message: %s",
    async (code, message, option) => {
      const { run, deliver } = await setUp();
      await deliver();
      const module = folder.write("module.mjs", code);
      const given = code.includes("readAttempt") ? "--since 1h" : SINCE;
      const command = `reconcile ${given} --module ${module} ${option}`.trim();
      const expected = { code: 2, stderr: message, never: "canary" };
      const { stderr } = await expectEnd(run(command), expected);
      expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    },
  );

  test("recovers nothing that is older than the store remembers: it would be handled again", async () => {
    const { run, client } = await setUp();
    await client.webhooks.delete(1);
    const module = folder.write(
      "retention.mjs",
      `const { createWebhookReceiver } = globalThis.library;
       export const receiver = createWebhookReceiver({
         secret: "any-secret-will-do-here", logger: false, retentionMs: 96 * 3_600_000,
         handlers: { new_alarm: () => undefined },
       });`,
    );
    const recover = `--fields ${FIELDS} --module ${module} --recover --handle-again`;
    // The last attempt may come 36 hours after the one that was handled.
    const late = run(`reconcile --since 61h ${recover}`);
    await expectEnd(late, { code: 2, stderr: "further back than 60 hours" });
    await expectEnd(run(`reconcile --since 59h ${recover}`), { stderr: "(not_found)" });
  });

  const throws = 'throw new RangeError("canary")';
  test.each([
    [
      "recover",
      `{ internal: { async recover() { ${throws} } }, async drain() {} }`,
      { missing: [{ isGivenUp: true }] },
      "recover of --module failed 1 time: RangeError\n",
    ],
    [
      "drain",
      `new (class {
         outcome = "handled";
         internal = { recover: async () => ({ outcome: this.outcome }) };
         async drain() { ${throws} }
       })()`,
      { recovered: [{}], passed: false },
      "drain of --module failed: RangeError\n",
    ],
  ])(
    "reports what %s of a receiver of one's own throws, and no bug of this program",
    async (name, code, json, stderr) => {
      const { run, deliver } = await setUp();
      await deliver();
      const module = folder.write(`${name}.mjs`, `export const receiver = ${code};`);
      const recovering = run(`reconcile ${SINCE} --module ${module} --recover --json`);
      const ended = await expectEnd(recovering, { code: 1, json, never: "canary" });
      expect(ended.stderr).toBe(stderr);
    },
  );

  test("that fails halfway waits for the handlers it started, so that the next run repeats none", async () => {
    const { run, deliver } = await setUp();
    for (let sent = 0; sent < 2; sent++) await deliver();
    // Two runs, each with a process of its own in real life, share the store.
    folder.write(
      "store.mjs",
      `const { memoryStore } = globalThis.library;
       export const store = memoryStore();
       export const handled = [];`,
    );
    const moduleOf = (isCompleted: string) =>
      `const { createWebhookReceiver } = globalThis.library;
       import { store, handled } from "./store.mjs";
       // The first handler goes past its limit, and ends only once the receiver drains.
       let release;
       const draining = new Promise((resolve) => (release = resolve));
       const own = createWebhookReceiver({
         secret: "any-secret-will-do-here", logger: false, store, handlerTimeoutMs: 1,
         handlers: {
           async new_alarm(_alarm, { id }) {
             if (handled.length === 0) await draining;
             handled.push(id);
           },
         },
       });
       let asked = 0;
       export const receiver = { ...own, drain: () => (release(), own.drain()) };
       export const isCompleted = () => { ${isCompleted} };`;
    const recover = (name: string, code: string) =>
      run(
        `reconcile ${SINCE} --module ${folder.write(name, moduleOf(code))} --recover --handle-again`,
      );
    const failing = recover("failing.mjs", 'if (++asked > 1) throw new Error("no");');
    await expectEnd(failing, { code: 2, stderr: "isCompleted of" });
    const { handled } = (await import(folder.at("store.mjs"))) as { handled: readonly string[] };
    expect(handled).toHaveLength(1);
    await expectEnd(recover("next.mjs", ""), { stdout: "1 handled before" });
    expect(new Set(handled).size).toBe(handled.length);
  });
});

/** A receiver of one's own, whose store is not that of the memory. */
function durableModule(): string {
  const code = "export const receiver = { internal: { async recover() {} }, async drain() {} };";
  return folder.write("durable.mjs", code);
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const now = Date.now();
const dateOf = (agoMs: number) => new Date(now - agoMs).toISOString();

/** A stored attempt. */
function stored(agoMs: number, status: number | null, id = `d-${String(agoMs)}`) {
  return { delivery_id: id, status, created_at: dateOf(agoMs) };
}

/** A gateway whose answers are those of a script: one webhook, made so long ago, and pages of stored attempts. */
async function scriptedGateway(pages: (page: string | null) => object, createdAgoMs = 30 * DAY) {
  const receiver = await desk.server((_req, res) => res.end());
  const webhook = { id: 1, url: receiver.url, type: "new_alarm", created_at: dateOf(createdAgoMs) };
  const right = {
    has_secret: 1,
    is_active: 1,
    skip_ssl_verification: 0,
    enable_requests_history: 1,
  };
  const { url } = await desk.server((req, res) => {
    const { pathname, searchParams } = new URL(req.url ?? "", "http://gateway");
    const isHistory = pathname.endsWith("/requests");
    const page = pages([...searchParams.values()][0] ?? null);
    res.end(JSON.stringify(isHistory ? page : { data: [{ ...webhook, ...right }] }));
  });
  const env = {
    GATEWAY_BASE_URL: new URL("/", url).href,
    GATEWAY_CRM_TOKEN: "a-token",
    GATEWAY_WEBHOOK_SECRET: "",
  };
  return (commandLine: string) => {
    const [name = "", ...options] = commandLine.split(" ");
    return runCommand(["webhooks", name, receiver.url, ...options], { env });
  };
}

const PLAIN = "--fields deliveryId=delivery_id,status=status,at=created_at";

test("reconcile counts what was given up, by its age too, and what may come again", async () => {
  const attempts = [stored(6 * DAY, 200), stored(25 * HOUR, null), stored(7 * HOUR, null)];
  const run = await scriptedGateway(() => ({ data: [...attempts, stored(HOUR, null)] }));
  const given = (since: string) => `reconcile --since ${since} ${PLAIN}`;
  const oldest = `the oldest of ${dateOf(6 * DAY).slice(0, 19)}Z`;
  await expectEnd(run(given("5d")), { code: 1, stdout: ["2 lost", "1 may come again", oldest] });
  // Its last attempt was more than 24 hours ago.
  await expectEnd(run(given("24h")), { code: 1, stdout: "1 lost" });
});

describe("what the history cannot show", () => {
  const ids = () => folder.write("known.txt", "d-1\n");
  const begins = "begins at";
  test.each([
    ["begins after --since", [stored(2 * DAY, 200)], 30 * DAY, { code: 1, stderr: begins }],
    ["is as old as its webhook", [stored(2 * DAY, 200)], 3 * DAY, { code: 0, stderr: "" }],
    ["goes back to --since", [stored(6 * DAY, 200)], 30 * DAY, { code: 0, stderr: "" }],
    ["is empty", [], 30 * DAY, { code: 1, stderr: "No attempt was read, and --completed has 1" }],
  ] as const)("makes reconcile fail if it %s", async (_how, data, createdAgoMs, expected) => {
    const run = await scriptedGateway(() => ({ data }), createdAgoMs);
    // The latest ones are younger than the list.
    utimesSync(ids(), 0, 0);
    const command = `reconcile --since 5d ${PLAIN} --completed ${folder.at("known.txt")}`;
    await expectEnd(run(command), expected);
  });
});

describe("check with --fields", () => {
  const since = (agoMs: number) => `since ${dateOf(agoMs).slice(0, 19)}Z`;
  const refused = (...agoMinutes: readonly number[]) =>
    [stored(9 * HOUR, 200), ...agoMinutes.map((ago) => stored(ago * MINUTE, 409))].toReversed();
  const found = "deliveries_refused, new_alarm, webhook 1, status";
  test.each([
    [
      "five refusals since the last 2xx",
      refused(40, 30, 20, 10, 5),
      1,
      `${found} 409, ${since(40 * MINUTE)}`,
    ],
    ["one final refusal", [stored(HOUR, 403)], 1, `${found} 403, ${since(HOUR)}`],
    ["a restart", refused(3, 2, 1), 0, "the latest attempt was at"],
    ["refusals of two days ago", [stored(2.5 * DAY, 403)], 0, "status 403, none for 2 days"],
    ["silence", [stored(3.5 * DAY, 200)], 0, "status 200, none for 3 days"],
    ["nothing stored", [], 0, "new_alarm: no attempt is stored"],
  ] as const)("tells of %s", async (_what, data, code, stdout) => {
    const run = await scriptedGateway(() => ({ data }));
    const never = code === 0 ? "deliveries_refused" : "Nothing is wrong";
    await expectEnd(run(`check --type new_alarm ${PLAIN}`), { code, stdout, never });
  });

  test("reads headers that are stored as JSON text, takes a reader of a module, and refuses wrong paths", async () => {
    const headers = JSON.stringify({ "X-Webhook-Id": ["d-1"] });
    const data = [{ request: { headers }, response: '{"status":403}', created_at: dateOf(HOUR) }];
    const run = await scriptedGateway(() => ({ data }));
    const check = "check --type new_alarm";
    const paths = "deliveryId=request.headers.X-Webhook-Id.0,status=response.status,at=created_at";
    await expectEnd(run(`${check} --fields ${paths}`), { code: 1, stdout: found });
    const path = /request\.headers\.X-Webhook-Id\.0\s+string/;
    await expectEnd(run("history --shape"), { code: 0, stdout: path });
    const code = `export const readAttempt = () => ({ deliveryId: "d", status: 403, at: new Date() });`;
    const module = folder.write("reader.mjs", code);
    await expectEnd(run(`${check} --module ${module}`), { code: 1, stdout: found });
    await expectEnd(run(`${check} ${PLAIN}`), { code: 2, stderr: "--fields reads no attempt" });
  });
});

describe("--next-page", () => {
  const all = Array.from({ length: 5 }, (_, at) => stored((at + 1) * HOUR, 200));
  /** Pages of two, in the three ways in which an answer may name the next. */
  const pages = (given: string | null) => {
    const page = Number(given ?? 1);
    const next = page < 3 ? page + 1 : null;
    return {
      data: all.slice((page - 1) * 2, page * 2),
      links: { next: next === null ? null : `/api/v1/webhook/1/requests?page=${String(next)}` },
      meta: { current_page: page, last_page: 3, next_cursor: next },
    };
  };
  test.each([
    ["--next-page links.next", 0, "5 of 5 attempts"],
    ["--next-page cursor=meta.next_cursor", 0, "5 of 5 attempts"],
    ["--next-page page=meta.current_page/meta.last_page", 0, "5 of 5 attempts"],
    ["--module FILE", 0, "5 of 5 attempts"],
    ["--next-page links.nxt", 2, "nothing at this path"],
    ["--next-page a/b", 2, "--next-page takes path"],
    ["", 4, "in a shell --next-page (incomplete_list)"],
  ])("reads a list of several pages: %s", async (option, code, text) => {
    const module = "export const nextPage = (body) => body.links?.next;";
    const file = folder.write("pages.mjs", module);
    const run = await scriptedGateway(pages);
    const ended = await run(`history ${PLAIN} ${option.replace("FILE", file)}`.trim());
    const expected = code === 0 ? { code, stdout: text } : { code, stderr: text };
    await expectEnd(Promise.resolve(ended), expected);
  });
});

test("the history counts what --fields cannot read, and shows an attempt without an answer", async () => {
  const { client, deliver, webhook, run, close } = await setUp(200, "", { retry: { attempts: 1 } });
  const fields = FIELDS.replace(",body=body", "");
  const wrong = fields.replace("created_at", "title");
  await expectEnd(run(`history --fields ${fields}`), { code: 1, stdout: "0 of 0 attempts" });
  await expectEnd(run("history --shape --json"), { stdout: '"shape": []' });
  await close();
  await deliver();
  await expectEnd(run(`history --fields ${fields}`), { code: 0, stdout: "–" });
  const json = { attempts: [], unreadable: 1, passed: false };
  await expectEnd(run(`history --fields ${wrong} --json`), { json });
  await expectEnd(run(`history --fields ${wrong}`), { stdout: "correct --fields" });
  const reconciled = run(`reconcile --fields ${wrong}`, "--since", "2026-01-01 00:00:00");
  await expectEnd(reconciled, { code: 1, stdout: "cannot be read" });
  await expectEnd(run("history --shape --json"), { stdout: '"path": "delivery_id"' });
  await client.webhooks.update(webhook.id, { enable_requests_history: false, secret: SECRET });
  const off = run(`reconcile --since 1h --fields ${fields}`);
  await expectEnd(off, { code: 1, stdout: "stores no history" });
});

test("the shape of the history has keys and types of any record, and nothing that could name a person", () => {
  const record = {
    id: 7,
    ok: true,
    none: null,
    at: "2026-10-09T11:00:00Z",
    tags: ["a", "b"],
    empty: [],
    request: { headers: { "X-Webhook-Id": "a-1", Authorization: "Bearer canary-token-9988" } },
    payload: { alarm: canaryAlarm() },
    text: JSON.stringify({ alarm: canaryAlarm() }),
    headers: JSON.stringify({ "X-Webhook-Id": "a-1", Authorization: "Bearer canary-token-9988" }),
    "canary.person@mail.example": { "19000101-9988": 1 },
  };
  const { lines, dropped } = shapeOf(record);
  const types = Object.fromEntries(lines.map(({ path: at, type }) => [at, type]));
  const plain = { id: "number", ok: "boolean", none: "null", at: "string", text: "string" };
  expect(types).toMatchObject({
    ...plain,
    tags: "list of 2",
    "tags.0": "string",
    empty: "list of 0",
    request: "object",
    "request.headers.X-Webhook-Id": "string",
    headers: "object as JSON text",
    "headers.X-Webhook-Id": "string",
    "payload.alarm.account_id": "number",
  });
  expect(dropped).toBeGreaterThan(0);
  expect(canariesIn(JSON.stringify(lines))).toEqual([]);
  expect(shapeOf(undefined).lines).toEqual([{ path: "", type: "null", placeholder: null }]);
});
