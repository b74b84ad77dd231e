import { execFile } from "node:child_process";
import { promisify } from "node:util";
import Database from "better-sqlite3";
import { afterAll, expect, it, onTestFinished } from "vitest";
import {
  createGatewayApi,
  sampleAlarm,
  sampleOnlineDataEvent,
  signedDelivery,
} from "../../kit/index.js";
import { createWebhookReceiver } from "../../src/index.js";
import { sqliteTransactions } from "../../src/stores/sqlite/index.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { REPOSITORY } from "../support/package/installed-package.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const folder = temporaryFolder(afterAll);

const ACCOUNTS = [1001, 1002];
const run = promisify(execFile);

it("examples/after-outage.ts handles what was given up, each record once, also in a second run", async () => {
  const file = folder.at("alarms.db");
  const database = new Database(file);
  const gateway = createGatewayApi({ urlCheck: false, retry: { attempts: 1 } });
  onTestFinished(async () => {
    await gateway.close();
    database.close();
  });
  const handled: number[] = [];
  const receiver = createWebhookReceiver({
    secret: TEST_SECRET,
    store: sqliteTransactions({ database }),
    once: { record: true, scope: "production" },
    handlers: { new_alarm: ({ id }) => void handled.push(id) },
    logger: false,
  });
  const created_at = "2026-07-08T10:00:00Z";
  const alarms = ACCOUNTS.flatMap((account_id) =>
    [1, 2, 3].map((n) => sampleAlarm({ id: account_id * 10 + n, account_id, created_at })),
  );
  // Handled long ago, and forgotten by the store.
  const old = sampleAlarm({ id: 9, account_id: 1001, created_at: "2026-06-01T10:00:00Z" });
  // No webhook is registered: the gateway has the records, and delivers none of them.
  await gateway.twin.deliverMany([old, ...alarms].map((alarm) => ({ alarm })));
  const own = { account_id: ACCOUNTS[1] ?? 0, occurred_at: created_at };
  const event = sampleOnlineDataEvent("DATA_REAPPEARED", own);
  await gateway.twin.deliver({ event });
  const delivered = alarms.slice(0, 2);
  for (const alarm of delivered) {
    await receiver.receive(await signedDelivery({ alarm, secret: TEST_SECRET }));
  }
  expect(handled).toEqual(delivered.map(({ id }) => id));

  const write = (...names: string[]) =>
    folder.write("addresses.txt", names.map((name) => `${name}@example.com\n`).join(""));
  const addresses = write(...ACCOUNTS.map(String));
  const { url } = await gateway.listen();
  const start = async () => {
    const env = {
      ...process.env,
      DATABASE_FILE: file,
      GATEWAY_URL: url,
      GATEWAY_CLIENT_ID: "partner",
      GATEWAY_CLIENT_SECRET: "secret",
      GATEWAY_WEBHOOK_SECRET: TEST_SECRET,
    };
    const argv = ["--import", "tsx", "examples/after-outage.ts", addresses, "2026-07-08T12:00:00Z"];
    const { stdout } = await run(process.execPath, argv, { cwd: REPOSITORY, env });
    return stdout.trim().split("\n");
  };
  const first = await start();
  expect(JSON.parse(first.pop() ?? "")).toEqual({ handled: 5, duplicate: 2 });
  expect(first).toHaveLength(5);
  expect(
    first.filter((line) => /^account 100[12]: \w+_hacked, \d+\.\d h late$/.test(line)),
  ).toHaveLength(4);
  expect(first).toContain("account 1002: DATA_REAPPEARED");
  expect(await start()).toEqual([JSON.stringify({ duplicate: 7 })]);
  // An address that the gateway does not know holds up no one.
  write("unknown", "1001");
  await expect(start()).rejects.toMatchObject({
    code: 1,
    stdout: `${JSON.stringify({ duplicate: 3 })}\n`,
    stderr: expect.stringMatching(/^line 1: ManagementError: /) as string,
  });
  // An attempt of the gateway that comes later still.
  for (const alarm of alarms) {
    const late = await receiver.receive(await signedDelivery({ alarm, secret: TEST_SECRET }));
    expect(late.outcome).toBe("duplicate");
  }
  expect(database.prepare("SELECT count(*) AS rows FROM alarms").get()).toEqual({ rows: 4 });
});
