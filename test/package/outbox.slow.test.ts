import http from "node:http";
import { buffer } from "node:stream/consumers";
import Database from "better-sqlite3";
import { afterAll, expect, it, vi } from "vitest";
import { createRandom } from "../../kit/random.js";
import { listen } from "../support/servers.js";
import { freshAlarm, post, startExample } from "../support/package/example-process.js";
import { postgresEngine } from "../support/postgres/postgres-engine.js";
import { readMarkdown, sectionOf } from "../support/package/markdown.js";
import { startedForAll } from "../support/started-for-all.js";

const ALARMS = 40;
const KILLS = 5;

it("the statement for SQLite takes a mail after longer and longer delays, a hundred times", () => {
  const page = sectionOf(readMarkdown("docs/handlers.md"), "## A mail is sent once");
  const database = new Database(":memory:");
  database.exec(
    `CREATE TABLE mails (id INTEGER PRIMARY KEY, account_id, text, attempts DEFAULT 0, due_at DEFAULT 0, sent_at);
     INSERT INTO mails (account_id, text) VALUES (7, 'A new alarm')`,
  );
  const next = database.prepare(page.snippets("sql")[0] ?? "");
  const delay = database.prepare("SELECT due_at - unixepoch() FROM mails").pluck();
  const delays: unknown[] = [];
  for (let mail = next.get(); mail !== undefined; mail = next.get()) {
    const attempts = delays.length + 1;
    expect(mail).toEqual({ id: 1, account_id: 7, text: "A new alarm", attempts });
    delays.push(delay.get());
    expect(next.get()).toBeUndefined();
    database.exec("UPDATE mails SET due_at = 0");
  }
  expect(delays).toHaveLength(100);
  // A second may begin between two statements.
  expect(Math.abs(Number(delays[0]) - 10)).toBeLessThanOrEqual(1);
  expect(Math.abs(Number(delays[99]) - 3_600)).toBeLessThanOrEqual(1);
  database.close();
});

postgresEngine.describe("examples/outbox.ts", () => {
  const database = startedForAll(() => postgresEngine.start());

  /** A mail service that refuses each fifth mail. */
  const mails: string[] = [];
  let requests = 0;
  const service = http.createServer((req, res) => {
    void buffer(req).then(() => {
      requests += 1;
      const isRefused = requests % 5 === 0;
      if (!isRefused) mails.push(String(req.headers["idempotency-key"]));
      res.writeHead(isRefused ? 503 : 200).end();
    });
  });
  afterAll(() => service.close());

  it("no mail is lost under kill -9, and one is sent twice at most once for each kill", async () => {
    const random = createRandom(20_261_129);
    const server = database();
    const pool = server.pool();
    const variables = {
      DATABASE_URL: `postgres://postgres@127.0.0.1:${String(server.port)}/postgres`,
      MAIL_URL: `http://127.0.0.1:${String((await listen(service)).port)}`,
    };
    let example = await startExample("outbox.ts", variables);
    const alarms = await Promise.all(
      Array.from({ length: ALARMS }, (_, n) => freshAlarm({ id: n + 1, account_id: 1_000 + n })),
    );
    const killAt = new Set(Array.from({ length: KILLS }, () => random.below(ALARMS)));
    for (const [n, alarm] of alarms.entries()) {
      // The gateway sends an alarm again until it is acknowledged.
      const sent = post(example.url, alarm).catch(() => undefined);
      if (killAt.has(n)) {
        await example.kill();
        example = await startExample("outbox.ts", variables);
      }
      await sent;
      await vi.waitFor(async () =>
        expect(await post(example.url, alarm)).toMatchObject({ status: 200 }),
      );
    }
    // Under another delivery id, as from a second webhook: no second mail.
    await post(example.url, await freshAlarm({ id: 1, account_id: 1_000 }));
    const open = "SELECT id FROM mails WHERE sent_at IS NULL";
    // What the service refused is due ten seconds later. The test does not wait for that.
    const due = "UPDATE mails SET due_at = now() WHERE sent_at IS NULL";
    await vi.waitFor(
      async () => {
        await postgresEngine.rows(pool, due);
        expect(await postgresEngine.rows(pool, open)).toEqual([]);
      },
      { timeout: 60_000, interval: 200 },
    );
    expect(await example.terminate()).toEqual([0, null]);
    expect(new Set(mails).size).toBe(ALARMS);
    expect(mails.length - ALARMS).toBeLessThanOrEqual(killAt.size);
  });
});
