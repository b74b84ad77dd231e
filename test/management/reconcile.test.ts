import { describe, expect, test } from "vitest";
import {
  createWebhookReceiver,
  type WebhookReceiver,
  type WebhookResponse,
} from "../../src/index.js";
import {
  attemptReader,
  createWebhookSecret,
  reconcileDeliveries,
  reconcileMetrics,
  type RecoverableDelivery,
} from "../../src/management/index.js";
import type { AttemptPaths } from "../../src/management/attempt-reader.js";
import { sampleAlarm, sampleOnlineDataEvent } from "../../kit/index.js";
import { nodeHandler } from "../../adapters/node.js";
import { desk } from "../support/management/desk.js";
import {
  codeOf,
  scriptedClient,
  webhookRecord,
  type ScriptedAnswer,
} from "../support/management/scripted-gateway.js";
import { recoverDelivery } from "../../src/management/recover-delivery.js";
import { throwing } from "../support/faults.js";

const secret = createWebhookSecret();
const paths = { deliveryId: "delivery_id", status: "status", at: "created_at", body: "body" };
const readAttempt = attemptReader(paths);
const since = new Date(0);

/** A gateway whose alarms go to a receiver, in whose place something in front answers some of the posts with a page. */
async function behindFront(
  receiver: WebhookReceiver,
  pageStatus: number,
  isTaken: (post: number) => boolean,
) {
  const gateway = await desk.gateway();
  const handle = nodeHandler(receiver);
  let posts = 0;
  const { url } = await desk.server((req, res) => {
    if (req.method === "POST" && isTaken(++posts)) {
      res.writeHead(pageStatus, { "content-type": "text/html" }).end("<html>a page</html>");
    } else void handle(req, res);
  });
  await gateway.register(url, secret);
  return {
    ...gateway,
    options: { url, since, readAttempt },
    recover: (delivery: RecoverableDelivery) => recoverDelivery(receiver, delivery),
    deliverAlarms(count: number) {
      const events = Array.from({ length: count }, () => ({ alarm: sampleAlarm() }));
      return gateway.api.twin.deliverMany(events, { concurrency: 8 });
    },
  };
}

test("40 of 400 deliveries that a firewall refused for good are found and recovered once", async () => {
  const { receiver, handled, reports } = await desk.receiver({ secret });
  const front = await behindFront(receiver, 403, (post) => post % 10 === 0);
  const { client, options, recover } = front;
  const { givenUp, acknowledged } = await front.deliverAlarms(400);
  expect({ givenUp, acknowledged }).toEqual({ givenUp: 40, acknowledged: 360 });
  expect(handled).toHaveLength(360);

  const found = await reconcileDeliveries(client, options);
  expect(found).toMatchObject({ recovered: [], completed: 0, attempts: 400, unreadable: 0 });
  expect(found.missing).toHaveLength(40);
  const lost = { isGivenUp: true, hasBody: true, lastStatus: 403 };
  for (const one of found.missing) expect(one).toMatchObject(lost);
  expect(handled).toHaveLength(360);

  const first = await reconcileDeliveries(client, { ...options, recover });
  expect(first.recovered).toHaveLength(40);
  expect(first.missing).toEqual([]);
  expect(handled).toHaveLength(400);
  expect(new Set(handled).size).toBe(400);
  expect(reports.filter(({ recovered }) => recovered === true)).toHaveLength(40);

  const second = await reconcileDeliveries(client, { ...options, recover });
  expect(second).toMatchObject({ recovered: [], missing: [], completed: 40 });
  expect(handled).toHaveLength(400);
  expect(reconcileMetrics(found)).toContain('missing_deliveries{state="given_up"} 40\n');
});

/** A reconciliation of the given attempt records at 2026-10-09 12:00. */
function reconcileRecords(records: readonly object[], more: object = {}, record = {}) {
  const answers = [{ json: [webhookRecord(record)] }, { json: records }];
  const { client } = scriptedClient(answers);
  const now = () => Date.parse("2026-10-09T12:00:00Z");
  return reconcileDeliveries(client, { since, readAttempt, now, ...more });
}

/** What a receiver says of a delivery. */
function result(outcome: WebhookResponse["outcome"]): Promise<WebhookResponse> {
  return Promise.resolve({ status: 200, headers: {}, body: "", outcome });
}

function attempt(delivery_id: string, status: unknown, created_at = "2026-10-09 11:00:00") {
  return { delivery_id, status, created_at, body: "{}" };
}

/** A minute of 11 o'clock. */
const minute = (at: number) => `2026-10-09 11:${String(at).padStart(2, "0")}:00`;

test("36 of 200 deliveries that a proxy acknowledged in place of the receiver are found and recovered once", async () => {
  const known: string[] = [];
  const { receiver } = await desk.receiver({
    secret,
    handlers: { new_alarm: (_alarm, { id }) => void known.push(id) },
  });
  const front = await behindFront(receiver, 200, (post) => post % 5 === 0 && post <= 180);
  const { api, client, options, recover } = front;
  await front.register(options.url, secret, "delete_my_data_event");
  await front.deliverAlarms(200);
  // No handler takes it: it is answered 2xx, and the store never holds it.
  await api.twin.deliver({ event: sampleOnlineDataEvent("DATA_DELETED") });
  expect(known).toHaveLength(164);

  const unchecked = await reconcileDeliveries(client, options);
  expect(unchecked).toMatchObject({ missing: [], acknowledged: undefined });
  const compared = { ...options, receiver, isCompleted: (id: string) => known.includes(id) };
  const found = await reconcileDeliveries(client, compared);
  expect(found.missing).toHaveLength(36);
  expect(found.missing.every((one) => one.isAcknowledged && one.hasBody)).toBe(true);
  expect(found.acknowledged).toEqual({ compared: 200, unhandled: 1, forgotten: 0, later: 0 });
  expect(reconcileMetrics(found)).toContain('missing_deliveries{state="acknowledged"} 36\n');
  expect(reconcileMetrics(found)).toContain('missing_deliveries{state="given_up"} 0\n');

  const recovered = await reconcileDeliveries(client, { ...compared, recover });
  expect(recovered).toMatchObject({ missing: [], completed: 0 });
  expect(recovered.recovered).toHaveLength(36);
  expect(new Set(known).size).toBe(200);
  const again = await reconcileDeliveries(client, { ...compared, recover });
  expect(again).toMatchObject({ missing: [], recovered: [] });
  expect(known).toHaveLength(200);
});

test("an acknowledged id that the store has forgotten, or that is younger than its list, is not compared", async () => {
  const records = [
    attempt("forgotten", 503, "2026-10-02T11:59:59Z"),
    attempt("forgotten", 200, "2026-10-03T11:00:00Z"),
    attempt("unknown", 200, "2026-10-02T12:00:01Z"),
    attempt("known", 200),
    attempt("later", 200, "2026-10-09T11:30:00Z"),
  ];
  const completedAt = new Date("2026-10-09T11:30:00Z");
  const isCompleted = (id: string) => id === "known";
  const report = await reconcileRecords(records, { isCompleted, completedAt });
  expect(report.missing.map(({ deliveryId }) => deliveryId)).toEqual(["unknown"]);
  expect(report.acknowledged).toEqual({ compared: 2, unhandled: 0, forgotten: 1, later: 1 });
  const short = createWebhookReceiver({
    secret,
    retentionMs: 72 * 3_600_000,
    handlers: { new_alarm: () => undefined },
  });
  const forgetful = await reconcileRecords(records, { isCompleted, completedAt, receiver: short });
  expect(forgetful).toMatchObject({ missing: [], acknowledged: { forgotten: 2 } });
});

describe("reconcile", () => {
  test.each([
    ["its id", (id: number) => ({ id })],
    ["the id that readAttempt finds", (id: number) => ({ request: { id } })],
    ["its time and status", () => ({})],
  ])("counts an attempt that two pages have once, by %s", async (_what, named) => {
    const stored = Array.from({ length: 8 }, (_, at) => ({
      ...attempt("retrying", 503, minute(at)),
      ...named(at),
    }));
    // Two attempts were stored between the two calls, so the first page's last two moved to the second.
    const pages = [{ data: stored.slice(0, 5), next: "?page=2" }, { data: stored.slice(3) }];
    const answers = [[webhookRecord()], ...pages].map((json) => ({ json }));
    const nextPage = (body: unknown) => (body as { next?: string }).next;
    const { client } = scriptedClient(answers, { nextPage });
    const report = await reconcileDeliveries(client, {
      since,
      readAttempt: attemptReader({ ...paths, attemptId: "request.id" }),
      now: () => Date.parse("2026-10-09T12:00:00Z"),
      recover: () => expect.unreachable(),
    });
    expect(report).toMatchObject({ attempts: 8, missing: [{ attempts: 8, isGivenUp: false }] });
  });

  test("keeps attempts apart that have an id in common, such as that of the delivery", async () => {
    const records = [attempt("a", 503), attempt("a", 503, minute(1)), attempt("a", 200, minute(1))];
    const named = records.map((record) => ({ ...record, id: "a" }));
    expect(await reconcileRecords(named)).toMatchObject({ attempts: 3, missing: [] });
  });

  test("lists what was never answered 2xx, and tells what may come again", async () => {
    const { missing } = await reconcileRecords([
      attempt("done", 500),
      attempt("done", "200"),
      attempt("retrying", 503),
      attempt("silent", null),
      attempt("final", 422),
      attempt("unlisted", 413),
      attempt("old", 503, "2026-10-09T06:59:00Z"),
      ...Array.from({ length: 10 }, (_, at) => attempt("exhausted", 503, minute(at))),
    ]);
    expect(missing.map(({ deliveryId, isGivenUp }) => [deliveryId, isGivenUp])).toEqual([
      // The oldest first.
      ["old", true],
      ["retrying", false],
      ["silent", false],
      ["final", true],
      ["unlisted", true],
      ["exhausted", true],
    ]);
    expect(JSON.stringify(missing)).not.toContain('"body"');
  });

  test("leaves out what is older than since, and counts what it cannot read", async () => {
    const { missing, unreadable } = await reconcileRecords(
      [attempt("a", 403), attempt("b", 403, "2026-10-08 11:00:00"), attempt("c d", 403), {}],
      { since: new Date("2026-10-09T00:00:00Z") },
    );
    expect(missing.map(({ deliveryId }) => deliveryId)).toEqual(["a"]);
    expect(unreadable).toBe(2);
    const thrower = throwing(new Error("no"));
    expect((await reconcileRecords([{}], { readAttempt: thrower })).unreadable).toBe(1);
  });

  test("names and counts webhooks without history, and asks nothing of them", async () => {
    const report = await reconcileRecords([], {}, { enable_requests_history: 0 });
    expect(report.withoutHistory.map(({ id }) => id)).toEqual(["7"]);
    expect(reconcileMetrics(report)).toContain("_webhooks_without_history 1\n");
  });

  test("leaves a delivery that may come again to the gateway, and keeps one that fails or that no handler takes", async () => {
    const asked: string[] = [];
    const outcomes: Record<string, WebhookResponse["outcome"]> = {
      fails: "handler_failed",
      untaken: "unhandled",
    };
    const recover = ({ id }: { id: string }) => {
      asked.push(id);
      return result(outcomes[id] ?? "handled");
    };
    const bodiless = { delivery_id: "bodiless", status: 403, created_at: "2026-10-09 11:00:00" };
    const report = await reconcileRecords(
      [
        attempt("retrying", 503),
        ...["fails", "untaken", "lost"].map((id) => attempt(id, 403)),
        bodiless,
      ],
      { recover },
    );
    expect(asked).toEqual(["fails", "untaken", "lost"]);
    expect(report.missing.map(({ deliveryId, recovered }) => [deliveryId, recovered])).toEqual([
      ["retrying", undefined],
      ["fails", "handler_failed"],
      ["untaken", "unhandled"],
      ["bodiless", undefined],
    ]);
    expect(report.recovered.map(({ deliveryId }) => deliveryId)).toEqual(["lost"]);
  });

  test("reads the single record when the list has no body", async () => {
    const { client, seen } = scriptedClient([
      { json: [webhookRecord()] },
      { json: [{ id: 5, delivery_id: "lost", status: 403, created_at: "2026-10-09 11:00:00" }] },
      { json: { data: { ...attempt("lost", 403), body: { alarm: 1 } } } },
    ]);
    const bodies: unknown[] = [];
    const recover = ({ body }: RecoverableDelivery) => {
      bodies.push(body);
      return result("handled");
    };
    const readWithId = attemptReader({ ...paths, attemptId: "id" });
    const report = await reconcileDeliveries(client, { since, readAttempt: readWithId, recover });
    expect(bodies).toEqual(['{"alarm":1}']);
    expect(seen.at(-1)?.path).toBe("/api/v1/webhook/7/requests/5");
    expect(report.recovered).toHaveLength(1);
  });

  test.each([
    ["throws", () => Promise.reject(new TypeError("canary"))],
    ["returns no result", () => Promise.resolve(undefined as never)],
  ])("keeps a delivery for which recover %s, and recovers the next one", async (_what, fail) => {
    const recover = ({ id }: { id: string }) => (id === "bad" ? fail() : result("handled"));
    const report = await reconcileRecords([attempt("bad", 403), attempt("good", 403)], { recover });
    expect(report.missing).toMatchObject([
      { deliveryId: "bad", hasBody: true, error: expect.any(TypeError) as TypeError },
    ]);
    expect(report.recovered).toMatchObject([{ deliveryId: "good", recovered: "handled" }]);
  });

  /** Two lost deliveries without a body in the list: the first single attempt is answered by `first`. */
  function reconcileSingles(first: ScriptedAnswer) {
    const json = [1, 2].map((id) => ({ ...attempt(`lost-${id}`, 403), body: null, id }));
    const lists = [{ json: [webhookRecord()] }, { json }];
    const answers = [...lists, first, { json: attempt("lost-2", 403) }];
    const { client } = scriptedClient(answers, { maxRetries: 0 });
    return reconcileDeliveries(client, {
      since,
      readAttempt: (record) => {
        if ((record as { isBad?: boolean }).isBad === true) throw new TypeError("bad");
        return attemptReader({ ...paths, attemptId: "id" })(record);
      },
      recover: () => result("handled"),
    });
  }

  test.each([[{ status: 404 }], [{ json: { isBad: true } }], [{ json: {} }], [{ text: "<" }]])(
    "recovers what follows a single attempt that cannot be read: %j",
    async (first) => {
      const report = await reconcileSingles(first);
      expect(report.missing).toMatchObject([{ deliveryId: "lost-1", hasBody: false }]);
      expect(report.recovered.map(({ deliveryId }) => deliveryId)).toEqual(["lost-2"]);
      expect(report.unreadBodies).toBe(1);
    },
  );

  test.each([
    ["unauthorized", { status: 401 }],
    ["network", new TypeError("fetch failed")],
  ])("ends at a single attempt with %s", async (code, first) => {
    expect(await codeOf(reconcileSingles(first))).toBe(code);
  });

  test("that is aborted between two deliveries rejects with aborted", async () => {
    const abort = new AbortController();
    const isCompleted = () => {
      abort.abort();
      return true;
    };
    const options = { isCompleted, signal: abort.signal };
    const work = reconcileRecords([attempt("a", 403), attempt("b", 403)], options);
    expect(await codeOf(work)).toBe("aborted");
  });

  const at = (value: unknown) => ({ deliveryId: "a", status: 403, at: value });
  test.each([at(new Date(Number.NaN)), at(undefined), at(new Date("2026-10-10T12:00:01Z")), null])(
    "counts a time that cannot be as unreadable: %j",
    async (read) => {
      const report = await reconcileRecords([{}], { readAttempt: () => read });
      expect(report).toMatchObject({ missing: [], unreadable: 1 });
    },
  );

  const ELEVEN_MS = Date.parse("2026-10-09T11:00:00Z");
  test.each([0, ELEVEN_MS])(
    "does not take the number %d, which is no time in seconds, for an old attempt",
    async (created_at) => {
      const report = await reconcileRecords([{ ...attempt("a", 403), created_at }]);
      expect(report).toMatchObject({ missing: [], unreadable: 1 });
    },
  );

  test.each([
    [{ since: new Date("2026-10-09T12:00:01Z") }],
    [{ since: "2026" }],
    [{ since: new Date(Number.NaN) }],
    [{ readAttempt: {} }],
    [{ x: 1 }],
  ])("refuses %j", async (options) => {
    const refused = { name: "ConfigurationError" };
    await expect(reconcileRecords([], options)).rejects.toMatchObject(refused);
  });
});

describe("attemptReader", () => {
  test("reads paths, both date formats, Unix seconds and a status in digits", () => {
    const ofRequest = { deliveryId: "request.headers.X-Webhook-Id", body: "request.body" };
    const others = { status: "response.status", at: "at", attemptId: "id" };
    const read = attemptReader({ ...ofRequest, ...others });
    const request = { headers: { "X-Webhook-Id": "a-1" }, body: "{}" };
    const record = { id: 5, at: "2026-10-09T11:00:00Z", response: { status: "404" }, request };
    const at = new Date("2026-10-09T11:00:00Z");
    const wanted = { deliveryId: "a-1", status: 404, at, body: "{}", attemptId: "5" };
    expect(read(record)).toEqual(wanted);
    expect(read({ ...record, at: "2026-10-09 11:00:00" })).toEqual(wanted);
    expect(read({ ...record, at: at.getTime() / 1000 })).toEqual(wanted);
    expect(read({ ...record, response: null })).toEqual({ ...wanted, status: undefined });
  });

  test.each([
    [null],
    [{}],
    [{ d: "a b", s: 1, t: 1.7e9 }],
    [{ d: "a", s: 200, t: "soon" }],
    [{ d: "a", s: 200, t: 1e15 }],
    [{ d: "a", s: "200 OK", t: 1.7e9 }],
    [{ d: "a", s: 42, t: 1.7e9 }],
    [{ d: "a", s: true, t: 1.7e9 }],
  ])("cannot read %j", (record) => {
    expect(attemptReader({ deliveryId: "d", status: "s", at: "t" })(record)).toBeUndefined();
  });

  test("reads only own members", () => {
    const read = attemptReader({ deliveryId: "constructor.name", status: "s", at: "t" });
    expect(read({ t: 1.7e9 })).toBeUndefined();
  });

  test("refuses unknown and missing paths", () => {
    for (const given of [{}, { ...paths, status: "" }, { ...paths, x: "y" }]) {
      expect(() => attemptReader(given as AttemptPaths)).toThrow();
    }
  });
});
