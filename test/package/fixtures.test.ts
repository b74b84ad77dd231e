import { execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import { cp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  parseAlarmPayload,
  parseGatewayTime,
  type Alarm,
  type OnlineDataEvent,
  type WebhookRequest,
} from "../../src/index.js";
import { ALARM, EVENT } from "../../src/common/gateway-facts.js";
import type { WireRequest } from "../../kit/sending/wire.js";
import type { MountedAdapter } from "../support/adapters/adapter-exchange.js";
import { adapterTargets } from "../support/adapters/adapter-targets.js";
import { directTarget } from "../support/adapters/target-kinds.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { BUREAUS, DOCUMENTED_EVENTS, HACKED_ITEMS } from "../records/documented-values.js";
import { GOLDEN } from "../signature/golden-vector.js";
import { fixtureNamed, fixtures, fixturesFolder, type Fixture } from "../support/fixtures.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { recordingReceiver } from "../support/recording-receiver.js";

const TSX = fileURLToPath(import.meta.resolve("tsx/cli"));
const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = temporaryFolder();

/** A receiver whose clock can be set to the time of a fixture, and the records that it has handled. */
function createReplay() {
  let nowMs = 0;
  const { receiver, handled } = recordingReceiver({ now: () => nowMs });
  return {
    receiver,
    records: handled,
    setClock: ({ receivedAt }: Fixture) => {
      nowMs = Date.parse(receivedAt);
    },
  };
}

/** The record that the handler receives. */
async function handledRecord<T extends Alarm | OnlineDataEvent>(name: string): Promise<T> {
  const { receiver, records, setClock } = createReplay();
  const fixture = fixtureNamed(name);
  setClock(fixture);
  expect((await receiver.receive(fixture)).outcome).toBe("handled");
  return records[0] as T;
}

const handledAlarm = (name: string) => handledRecord<Alarm>(name);

function runNode(args: readonly string[], stdin = "") {
  return new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    const child = execFile(process.execPath, args, { cwd: root }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
    child.stdin?.end(stdin);
  });
}

/** A list of values becomes one header line for each value. */
function requestOf({ headers, body }: Fixture): WireRequest {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    [value].flat().map((text) => [name, text] as const),
  );
  return { method: "POST", headers: lines, body };
}

describe.each([directTarget, ...adapterTargets])("$name", (target) => {
  const { receiver, records, setClock } = createReplay();
  let mounted: MountedAdapter;

  beforeAll(async () => {
    mounted = await target.open(receiver);
  });

  afterAll(async () => {
    await mounted.close();
  });

  // A header that was sent twice cannot be seen behind such a platform.
  const visible = fixtures.filter(
    ({ name }) => !(target.hidesRepeats === true && name === "hostile/repeated-header"),
  );

  it.each(visible)(`${target.name} answers the fixture $name as it expects`, async (fixture) => {
    const handledBefore = records.length;
    setClock(fixture);
    const { status, body } = await mounted.send(requestOf(fixture));

    const { outcome } = fixture.expect;
    expect(status).toBe(fixture.expect.status);
    expect(JSON.parse(body)).toMatchObject(
      status === 200 ? { outcome } : { error: { code: outcome.toUpperCase() } },
    );
    expect(records.length - handledBefore).toBe(outcome === "handled" ? 1 : 0);
  });
});

it("the fixtures are exactly the files that generate.mjs writes", async () => {
  const checked = await runNode(["fixtures/generate.mjs", "--check"]);
  expect(checked).toEqual({ code: 0, stdout: "", stderr: "" });
});

it("the fixtures fit a table of alarms with a primary key, and one of events with a unique key", async () => {
  const { receiver, records, setClock } = createReplay();
  for (const fixture of fixtures) {
    setClock(fixture);
    await receiver.receive(fixture);
  }
  const keys = (records as (Alarm | OnlineDataEvent)[]).map((record) => {
    if ("id" in record) return record.id;
    const { account_id, type, site_id, occurred_at } = record;
    return [account_id, type, site_id, parseGatewayTime(occurred_at).getTime()].join();
  });
  expect(keys).toHaveLength(40);
  expect(new Set(keys).size).toBe(40);
  const ids = keys.filter((key): key is number => typeof key === "number");
  // The golden vector has the published id 1.
  expect(ids.filter((id) => id < 2_000_000_000 || id > 2_147_483_647)).toEqual([1]);
});

it("the delivery ids of the fixtures say that they are made up", () => {
  const ids = fixtures.flatMap(({ headers }) => headers["X-Webhook-Id"] ?? []);
  const others = ids.filter((id) => !/^7e57da7a-.{4}-8.{3}-[89ab].{3}-.{12}(:|$)/.test(id));
  expect(others).toEqual(["3f2504e0-4f89-41d3-9a0c-0305e82c3301"]);
});

/** The records of the fixtures whose name matches. */
function handledRecords<T extends Alarm | OnlineDataEvent>(pattern: RegExp): Promise<T[]> {
  const names = fixtures.map(({ name }) => name).filter((name) => pattern.test(name));
  return Promise.all(names.map((name) => handledRecord<T>(name)));
}

it("there is one fixture for each breach event type and each bureau source", async () => {
  const alarms = await handledRecords<Alarm>(/^alarm-(.*-hacked|bureau-.*)$/);
  expect(alarms.map(({ source, event_type }) => `${source} ${event_type}`).sort()).toEqual([
    ...HACKED_ITEMS.map((item) => `BreachDb ${item}_hacked`).sort(),
    ...BUREAUS.map((bureau) => `${bureau} ${bureau}`).sort(),
  ]);
  for (const alarm of alarms) expect(parseAlarmPayload(alarm)).toBeTypeOf("object");
});

it("there is one fixture for each type of Online Data event, with its severity", async () => {
  const pattern = /^event-(data|deletion|personal|power|user)-/;
  const events = await handledRecords<OnlineDataEvent>(pattern);
  const rows = events.map(({ type, severity }) => [type, severity]);
  expect(rows.sort()).toEqual([...DOCUMENTED_EVENTS].sort());
});

it("the record of each fixture of a documented type has the documented fields, in their order", () => {
  const pattern = /^(?:alarm|event)-(?!unknown-fields)/;
  const documented = fixtures.filter(({ name }) => pattern.test(name));
  for (const { name, body } of documented) {
    const { alarm, event } = JSON.parse(new TextDecoder().decode(body)) as Record<string, object>;
    const table = alarm === undefined ? EVENT : ALARM;
    expect(Object.keys(alarm ?? event ?? {}), name).toEqual(Object.keys(table));
  }
  expect(documented.length).toBeGreaterThan(30);
});

it("every e-mail address and link in a fixture is at a reserved domain, so it belongs to no one", () => {
  const texts = fixtures.map(({ body }) => Buffer.from(body).toString());
  const hosts = texts.flatMap((text) =>
    [...text.matchAll(/(?:@|:\/\/|:\\\/\\\/)([\w.-]+)/g)].map(([, host]) => host),
  );
  expect([...new Set(hosts)].sort()).toEqual(["example.com", "people-search.example"]);
});

it("the README of the fixtures lists each fixture with its expected answer", async () => {
  const readme = await readFile(join(fixturesFolder, "README.md"), "utf8");
  const rows = readme.split("\n").filter((line) => /^\| `.*\.json` \|/.test(line));
  const expected = fixtures.map(
    ({ name, description, expect: { outcome, status } }) =>
      `| \`${name}.json\` | ${description} | ${outcome} ${status} |`,
  );
  expect(rows.sort()).toEqual(expected.sort());
});

it("generate.mjs --check names a file that differs, one that is missing and one that is left over", async () => {
  await cp(fixturesFolder, folder.at(), { recursive: true });
  const check = [folder.at("generate.mjs"), "--check"];
  expect(await runNode(check)).toMatchObject({ code: 0 });

  folder.write("golden-vector.json", "{}");
  await rm(folder.at("hostile/stale.json"));
  folder.write("left-over.json", "{}");

  const { code, stderr } = await runNode(check);
  expect(code).toBe(1);
  expect(stderr.trim().split("\n").sort()).toEqual([
    "fixtures/golden-vector.json is not what generate.mjs writes",
    "fixtures/hostile/stale.json is not what generate.mjs writes",
    "fixtures/left-over.json is not what generate.mjs writes",
  ]);
});

it("the fixture golden-vector is the published example, byte for byte", () => {
  const { headers, body } = fixtureNamed("golden-vector");
  expect(headers).toEqual({
    "Content-Type": "application/json",
    "X-Webhook-Type": "new_alarm",
    "X-Webhook-Id": GOLDEN.id,
    "X-Webhook-Timestamp": GOLDEN.timestamp,
    "X-Webhook-Signature": GOLDEN.signature,
  });
  expect(Buffer.from(body).toString()).toBe(GOLDEN.body);
  expect(TEST_SECRET).toBe(GOLDEN.secret);
});

it("the fixtures of alarm dates have the same time in both formats", async () => {
  const legacy = await handledAlarm("alarm-dates-legacy");
  const standardized = await handledAlarm("alarm-dates-standardized");
  for (const field of ["date", "checked_at", "created_at", "updated_at"] as const) {
    expect(legacy[field]).toMatch(/^[0-9-]{10} [0-9:]{8}$/);
    expect(standardized[field]).toMatch(/Z$/);
    expect(parseGatewayTime(legacy[field])).toEqual(parseGatewayTime(standardized[field]));
  }
});

it("the fixtures of text beyond ASCII have the same text, with and without escapes", async () => {
  const { text } = await handledAlarm("alarm-non-ascii-text");
  const escaped = await handledAlarm("alarm-escaped-text");
  expect(text).toContain("東京");
  expect(escaped.text).toBe(`${text} https://example.com/a/b`);
  const { body } = fixtureNamed("alarm-escaped-text");
  expect(Buffer.from(body).toString()).toMatch(/^[ -~]+$/);
});

it.each([
  ["alarm-empty-payload", "empty_payload"],
  ["alarm-broken-payload", "invalid_json"],
])("%s reaches the handler, where parseAlarmPayload throws %s", async (name, code) => {
  const alarm = await handledAlarm(name);
  expect(() => parseAlarmPayload(alarm)).toThrow(expect.objectContaining({ code }));
});

it("the fixture of a large alarm has 200 KB", () => {
  expect(fixtureNamed("alarm-200-kb").body).toHaveLength(200 * 1024);
});

it("the fixture shifted-delimiter has a good signature over the joined string", () => {
  const { headers, body } = fixtureNamed("hostile/shifted-delimiter");
  const mac = createHmac("sha256", TEST_SECRET)
    .update(`v1:${String(headers["X-Webhook-Timestamp"])}:${String(headers["X-Webhook-Id"])}:`)
    .update(body);
  expect(headers["X-Webhook-Signature"]).toBe(`v1=${mac.digest("hex")}`);
  expect(headers["X-Webhook-Id"]).toContain(":");
});

it("the fixture invalid-utf-8 has its body in base64", async () => {
  const text = await readFile(join(fixturesFolder, "hostile/invalid-utf-8.json"), "utf8");
  expect(JSON.parse(text)).toHaveProperty("bodyBase64");
  expect(JSON.parse(text)).not.toHaveProperty("body");
  const utf8 = new TextDecoder("utf-8", { fatal: true });
  expect(() => utf8.decode(fixtureNamed("hostile/invalid-utf-8").body)).toThrow(TypeError);
});

it("the fixture byte-order-mark writes the mark as an escape, and it is sent", async () => {
  const text = await readFile(join(fixturesFolder, "hostile/byte-order-mark.json"), "utf8");
  expect(text).toContain(String.raw`"body": "\ufeff{`);
  expect([...fixtureNamed("hostile/byte-order-mark").body.slice(0, 3)]).toEqual([0xef, 0xbb, 0xbf]);
});

it("the script in the README of the fixtures makes a fixture from a redacted body", async () => {
  const readme = await readFile(join(fixturesFolder, "README.md"), "utf8");
  const script = /```js\n( +\/\/ node record\.mjs [^]*?)\n *```/.exec(readme)?.[1] ?? "";
  const { body } = fixtureNamed("alarm-non-ascii-text");

  // Takes the package from its sources, so that nothing has to be built.
  const sources = ["--tsconfig", "examples/demo/tsconfig.sources.json"];
  const made = await runNode(
    [TSX, ...sources, folder.write("record.mjs", script), "Alarm of a new kind"],
    Buffer.from(body).toString(),
  );
  expect(made).toMatchObject({ code: 0, stderr: "" });
  const fixture = JSON.parse(made.stdout) as WebhookRequest & Fixture;
  const { receiver, setClock } = createReplay();
  setClock(fixture);
  expect(fixture.description).toBe("Alarm of a new kind");
  expect(Buffer.from(fixture.body as unknown as string)).toEqual(Buffer.from(body));
  expect(await receiver.receive(fixture)).toMatchObject(fixture.expect);
});
