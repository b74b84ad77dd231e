import http from "node:http";
import { buffer } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  createGatewayApi,
  createVirtualClock,
  sampleAlarm,
  sampleOnlineDataEvent,
} from "../../../kit/index.js";
import { HEADERS } from "../../../src/delivery/headers.js";
import type { Alarm, OnlineDataEvent } from "../../../src/index.js";
import { createManagementClient, crmLogin } from "../../../src/management/index.js";
import { ONLINE_DATA_EVENT_TYPES } from "../../../src/records/online-data-event.js";
import { deferred } from "../../support/deferred.js";
import { TEST_SECRET } from "../../support/deliveries.js";
import { describeService } from "../../support/describe-service.js";
import { listen } from "../../support/servers.js";
import { ENGINES, runsOf } from "./engines.js";
import { startProcess, startReceiver } from "./killed-process.js";
import { ACCOUNTS, keyOf, LEASE_MS, LISTS, TEST_TIME, type Role } from "./run-facts.js";

const HOUR_MS = 3_600_000;
const OUTAGE_MS = 36 * HOUR_MS;
const RECORDS = { alarms: 1_000, events: 300, givenUp: 60 };
/** So many records are built, and later retried, at the same time. */
const TOGETHER = 20;
const KILL_EVERY = 200;

/** Delivers, is down for 36 hours, and reads the lists twice while late attempts come. Kills both kinds of processes. */
async function runOutage(role: Role) {
  const clock = createVirtualClock({ startMs: Date.now() });
  const upAt = clock.now() + OUTAGE_MS;
  const firstLate = deferred();
  const halfLate = deferred();
  const reading = deferred();

  const receiver = startReceiver(role);
  let late = 0;
  const pass = async (req: http.IncomingMessage, res: http.ServerResponse): Promise<void> => {
    const body = await buffer(req);
    late += 1;
    firstLate.resolve();
    await reading.promise;
    if (late === RECORDS.alarms / 2) halfLate.resolve();
    const url = await receiver.url();
    const headers = new Headers({ [TEST_TIME]: String(clock.now()) });
    for (const { name } of Object.values(HEADERS)) {
      headers.set(name, String(req.headers[name.toLowerCase()]));
    }
    const answer = fetch(url, { method: "POST", headers, body });
    if (late % KILL_EVERY === 0) receiver.kill();
    const { status } = await answer;
    // On Redis the lease of a killed process ends in real time, whatever the gateway's clock does.
    if (status !== 200) await wait(LEASE_MS / 2);
    res.writeHead(status).end();
  };
  const front = http.createServer((req, res) => {
    // What a process in front of a receiver that is down does, and what a killed receiver does.
    if (clock.now() < upAt) req.socket.destroy();
    else pass(req, res).catch(() => req.socket.destroy());
  });
  const { port } = await listen(front);

  const ends: Record<string, number> = {};
  const gateway = createGatewayApi({
    clock,
    urlCheck: false,
    history: false,
    // The document does not say that a list has the fields of the delivery. For each second account it has not.
    listedRecord: (record) => {
      const one = record as Readonly<Record<string, unknown>>;
      if (Number(one["account_id"]) % 2 === 0) return one;
      return "status" in one ? { ...one, status: "CLOSED" } : { ...one, listed: true };
    },
    onDelivery: ({ end }) => (ends[end] = (ends[end] ?? 0) + 1),
  });
  onTestFinished(async () => {
    await gateway.close();
    receiver.close();
    front.closeAllConnections();
    front.close();
  });
  const { url: recoverFrom } = await gateway.listen();
  const { token } = await crmLogin({ baseUrl: recoverFrom, credentials: { user: "partner" } });
  const client = createManagementClient({ baseUrl: recoverFrom, token });
  for (const [type] of LISTS) {
    const url = `http://127.0.0.1:${String(port)}/`;
    await client.webhooks.create({ title: type, url, type, secret: TEST_SECRET });
  }

  /** Reads the lists, again after each number of records in `kills`, which end the process. Returns the last outcomes. */
  const recover = async (kills: readonly number[] = []): Promise<ReadonlySet<string>> => {
    let outcomes = new Set<string>();
    for (const records of [...kills, Infinity]) {
      const { child, ended, lines } = startProcess({ ...role, recoverFrom });
      let given = 0;
      outcomes = new Set();
      lines.on("line", (outcome) => {
        expect(outcome).toMatch(/^(?:handled|duplicate|in_flight)$/);
        outcomes.add(outcome);
        given += 1;
        reading.resolve();
        if (given !== records) return;
        receiver.killed.add(child.pid ?? 0);
        child.kill("SIGKILL");
      });
      const [code, signal] = (await ended) as [number | null, string | null];
      expect([code, signal]).toEqual(records === Infinity ? [0, null] : [null, "SIGKILL"]);
    }
    return outcomes;
  };
  const reads = (async () => {
    await firstLate.promise;
    await recover([150, 500]);
    await halfLate.promise;
    await recover();
  })();

  const deliveries: Promise<unknown>[] = [];
  const records = madeUpRecords();
  for (let first = 0; first < records.length; first += TOGETHER) {
    const isEarly = first < RECORDS.givenUp;
    const batch = records.slice(first, first + TOGETHER);
    deliveries.push(...batch.map((event) => gateway.twin.deliver(event)));
    // The early ones have used up their attempts, of 6 h 40 min, when the receiver is up again.
    await clock.sleep(isEarly ? 10.5 * HOUR_MS : HOUR_MS / 15);
  }
  await Promise.all([...deliveries, reads]);
  // More may have been given up since, and a killed process may hold a lease: as the page says, read once more.
  while ((await recover()).has("in_flight")) await wait(LEASE_MS / 2);
  return { records, killed: receiver.killed, ends };
}

/** The records of the run, mixed: a field of its own tells each from all others. */
function madeUpRecords(): readonly (
  { readonly alarm: Alarm } | { readonly event: OnlineDataEvent }
)[] {
  const accountOf = (n: number): number => ACCOUNTS[n % ACCOUNTS.length] ?? 0;
  const all = Array.from({ length: RECORDS.alarms + RECORDS.events }, (_, n) => n);
  const every = all.length / RECORDS.events;
  return all.map((n) => {
    const account_id = accountOf(n);
    if (Math.floor((n + 1) / every) === Math.floor(n / every)) {
      return { alarm: sampleAlarm({ id: 1 + n, account_id }) };
    }
    const type = ONLINE_DATA_EVENT_TYPES[n % ONLINE_DATA_EVENT_TYPES.length] ?? "DATA_DELETED";
    const occurred_at = new Date(1_790_000_000_000 + 1_000 * n).toISOString();
    return { event: sampleOnlineDataEvent(type, { account_id, occurred_at }) };
  });
}

/** A lease and a transaction. */
describe.each(["redis", "postgres"] as const)("%s", (name) => {
  const { missing, start } = ENGINES[name];
  describeService("an outage of 36 hours", missing, () => {
    it("is repaired from the lists: each record is handled once, on Redis but for a kill before its mark", async () => {
      const { at, ledger, close } = await start();
      onTestFinished(close);
      const { records, killed, ends } = await runOutage({ engine: name, at });
      expect(ends["exhausted"]).toBeGreaterThanOrEqual(RECORDS.givenUp);
      expect(killed.size).toBeGreaterThanOrEqual(8);
      const runs = runsOf(await ledger());
      expect(runs.size).toBe(records.length);
      for (const record of records) {
        const one = "alarm" in record ? record.alarm : record.event;
        const by = runs.get(keyOf(one)) ?? [];
        // Without a transaction, the next process handles it again if a kill fell between the effect and its mark.
        const excused = name === "redis" ? by.slice(0, -1).filter((pid) => killed.has(pid)) : [];
        // With other fields in the list than in the delivery it is two records.
        const isListedDifferently = "event" in record && one.account_id % 2 === 1;
        expect(by.length, keyOf(one)).toBeGreaterThanOrEqual(1);
        const most = (isListedDifferently ? 2 : 1) + excused.length;
        expect(by.length, keyOf(one)).toBeLessThanOrEqual(most);
      }
    });
  });
});
