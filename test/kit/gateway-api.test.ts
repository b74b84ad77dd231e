import { describe, expect, onTestFinished, test } from "vitest";
import {
  createManagementClient,
  crmLogin,
  type ManagementClient,
} from "../../src/management/index.js";
import {
  createGatewayApi,
  createVirtualClock,
  sampleAlarm,
  sampleOnlineDataEvent,
  type GatewayApi,
  type GatewayApiOptions,
} from "../../kit/index.js";
import { desk } from "../support/management/desk.js";

const baseUrl = "https://gateway.example";
const hook = { title: "alarms", type: "new_alarm" } as const;

function apiOf(options: GatewayApiOptions = {}): GatewayApi {
  const api = createGatewayApi({ urlCheck: false, ...options });
  onTestFinished(() => api.close());
  return api;
}

/** Calls a route with a new token. */
async function call(
  api: GatewayApi,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = { "x-api-version": "2026-06-12" },
) {
  const { token } = await crmLogin({ baseUrl, credentials: {}, fetch: api.fetch });
  const response = await api.fetch(`${baseUrl}/api/v1/${path}`, {
    method,
    headers: { ...headers, authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    contentType: response.headers.get("content-type"),
    json: text === "" ? undefined : (JSON.parse(text) as Record<string, unknown>),
  };
}

/** A client with a new token. */
async function clientOf(
  api: GatewayApi,
  options: Partial<Parameters<typeof createManagementClient>[0]> = {},
) {
  const { token } = await crmLogin({ baseUrl, credentials: {}, fetch: api.fetch });
  return createManagementClient({ baseUrl, token, fetch: api.fetch, ...options });
}

const fields = {
  title: "alarms",
  url: "https://partner.example/",
  type: "new_alarm" as const,
  secret: "a-secret-of-the-desk",
  is_active: true,
  skip_ssl_verification: false,
  enable_requests_history: true,
};

test("the standard format has booleans, dates with Z and one error envelope", async () => {
  const api = apiOf({ clock: createVirtualClock() });
  const created = await call(api, "POST", "webhook", fields);
  expect(created.status).toBe(201);
  const created_at = "2025-10-09T08:53:20Z";
  const times = { created_at, updated_at: created_at };
  expect(created.json).toEqual({
    data: { id: 1, ...fields, secret: undefined, has_secret: true, ...times },
  });
  const taken = await call(api, "POST", "webhook", { ...fields, title: "" });
  expect(taken).toMatchObject({ status: 422, contentType: "application/json" });
  expect(taken.json).toEqual({
    error: {
      code: "VALIDATION_ERROR",
      message: "The given data was invalid.",
      details: [{ field: "title", issue: "is required" }],
    },
  });
  expect((await call(api, "GET", "webhook/9")).json).toMatchObject({ error: { details: [] } });
});

test("the legacy format has 1 and 0, dates without a zone and the four other shapes", async () => {
  const api = apiOf({ clock: createVirtualClock(), lists: "bare" });
  const legacy = {};
  const created = await call(api, "POST", "webhook", fields, legacy);
  expect(created.json).toMatchObject({
    data: { has_secret: 1, skip_ssl_verification: 0, created_at: "2025-10-09 08:53:20" },
  });
  expect((await call(api, "GET", "webhooks", undefined, legacy)).json).toHaveLength(1);
  const taken = await call(api, "POST", "webhook", fields, legacy);
  expect(taken).toMatchObject({ status: 422, contentType: "application/vnd.api+json" });
  expect(taken.json).toEqual({ errors: { url: ["has already been taken for this type"] } });
  const missing = await call(api, "GET", "webhook/9", undefined, legacy);
  expect(missing.json).toEqual({ errors: ["The webhook was not found."] });
  const refused = await api.fetch(`${baseUrl}/api/v1/webhooks`);
  expect(await refused.json()).toEqual({ error: "Unauthenticated." });
  await expect(api.fetch("/api/v1/webhooks")).rejects.toThrow(TypeError);
});

test.each([
  [false, "2026-06-12", 429],
  [false, undefined, 409],
  [true, "2026-06-12", 409],
])(
  "throttling with legacyThrottling %s and version %s is answered %i",
  async (legacyThrottling, version, status) => {
    const api = apiOf({ legacyThrottling });
    api.throttle(1);
    const headers = version === undefined ? {} : { headers: { "x-api-version": version } };
    const throttled = await api.fetch(`${baseUrl}/api/v1/webhooks`, headers);
    expect([throttled.status, throttled.headers.get("retry-after")]).toEqual([status, "1"]);
    expect((await api.fetch(`${baseUrl}/api/v1/webhooks`, headers)).status).toBe(401);
  },
);

test("a login gives a token of 40 characters that lasts an hour, or 24 with keep_logged", async () => {
  const clock = createVirtualClock();
  const api = apiOf({ clock, login: ({ user }) => user === "partner" });
  const credentials = { user: "partner" };
  const short = await crmLogin({ baseUrl, credentials, fetch: api.fetch });
  const long = await crmLogin({ baseUrl, credentials, keepLogged: true, fetch: api.fetch });
  expect(short).toMatchObject({
    token: /^.{40}$/.exec(short.token)?.[0],
    expiresInSeconds: 3_600,
  });
  expect(long.expiresAt?.getTime()).toBe(clock.now() + 86_400_000);
  await expect(crmLogin({ baseUrl, credentials: {}, fetch: api.fetch })).rejects.toMatchObject({
    code: "unauthorized",
  });
  const list = ({ token }: { token: string }) =>
    createManagementClient({ baseUrl, token, fetch: api.fetch }).webhooks.list();
  await clock.sleep(3_600_000);
  await expect(list(short)).rejects.toMatchObject({ code: "unauthorized" });
  expect(await list(long)).toEqual([]);
  api.endSessions();
  await expect(list(long)).rejects.toMatchObject({ code: "unauthorized" });
});

test.each([
  [false, true],
  [true, false],
])("with putDropsSecret %s, a PUT without it keeps it: %s", async (putDropsSecret, kept) => {
  const api = apiOf({ putDropsSecret });
  await call(api, "POST", "webhook", fields);
  const others = { ...fields, secret: undefined };
  const updated = await call(api, "PUT", "webhook/1", others);
  expect(updated.json).toMatchObject({ data: { has_secret: kept } });
});

test.each([
  [false, { title: "second" }, 200],
  [true, { title: "second" }, 422],
  [true, { ...fields, title: "second", secret: undefined }, 200],
])("with putReplaces %s, a PUT of %o is answered %i", async (putReplaces, changes, status) => {
  const api = apiOf({ putReplaces });
  await call(api, "POST", "webhook", fields);
  const updated = await call(api, "PUT", "webhook/1", changes);
  expect(updated.status).toBe(status);
  const record = { title: status === 200 ? "second" : fields.title };
  const has_secret = !(putReplaces && status === 200);
  const { json } = await call(api, "GET", "webhook/1");
  expect(json).toMatchObject({ data: { ...record, has_secret } });
});

test("with takenUrlStatus 409, a second webhook of a URL and type is a conflict", async () => {
  const api = apiOf({ takenUrlStatus: 409 });
  await call(api, "POST", "webhook", fields);
  const client = await clientOf(api);
  await expect(client.webhooks.create(fields)).rejects.toMatchObject({ code: "conflict" });
  expect(await client.webhooks.list()).toHaveLength(1);
});

test("with retryAfter false, throttling names no delay, and the client repeats a read by itself", async () => {
  const api = apiOf({ retryAfter: false });
  const client = await clientOf(api, { retryDelayMs: 1 });
  api.throttle(1);
  const answer = await api.fetch(`${baseUrl}/api/v1/webhooks`, {});
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([409, null]);
  api.throttle(1);
  expect(await client.webhooks.list()).toEqual([]);
});

test("with legacyBooleans strings, the legacy format has them as texts, and the client reads them", async () => {
  const api = apiOf({ legacyBooleans: "strings" });
  await call(api, "POST", "webhook", { ...fields, is_active: false });
  const raw = await call(api, "GET", "webhook/1", undefined, {});
  expect(raw.json).toMatchObject({ data: { is_active: "0", has_secret: "1" } });
  const [webhook] = await (await clientOf(api, { apiVersion: false })).webhooks.list();
  expect(webhook).toMatchObject({ is_active: false, has_secret: true });
});

test.each([["GET"], ["HEAD"]] as const)("urlCheck %s refuses a 404", async (urlCheck) => {
  const methods: (string | undefined)[] = [];
  const { url } = await desk.server((req, res) => {
    methods.push(req.method);
    res.writeHead(methods.length === 1 ? 404 : 200).end();
  });
  const api = apiOf({ urlCheck });
  expect((await call(api, "POST", "webhook", { ...fields, url })).json).toMatchObject({
    error: { details: [{ field: "url", issue: "is not reachable" }] },
  });
  expect((await call(api, "POST", "webhook", { ...fields, url })).status).toBe(201);
  expect(methods).toEqual([urlCheck, urlCheck]);
});

test.each([
  [{ urlCheck: "POST" }],
  [{ lists: "page" }],
  [{ history: 1 }],
  [{ webhooks: [] }],
  [{ seed: -1 }],
])("createGatewayApi refuses %j", (options) => {
  expect(() => createGatewayApi(options as GatewayApiOptions)).toThrow(
    expect.objectContaining({ name: "ConfigurationError" }),
  );
});

test.each([
  ["PATCH", "webhook/1", 404],
  ["POST", "webhook/1/requests", 404],
  ["GET", "webhook/1/requests/9", 404],
  ["GET", "webhook/9/requests", 404],
  ["DELETE", "webhook/9", 404],
])("%s %s is answered %i", async (method, route, status) => {
  const api = apiOf();
  await call(api, "POST", "webhook", fields);
  expect((await call(api, method, route)).status).toBe(status);
});

test("an error names each field that is wrong", async () => {
  const wrong = { title: 1, url: "ftp://x", type: "alarm", secret: " padded", is_active: "yes" };
  const { status, json } = await call(apiOf(), "POST", "webhook", wrong);
  expect(status).toBe(422);
  const { details } = (json?.["error"] ?? {}) as { details: { field: string }[] };
  expect(details.map(({ field }) => field)).toEqual(Object.keys(fields));
  const api = apiOf();
  for (const body of [undefined, 7, null]) {
    expect((await call(api, "POST", "webhook", body)).status).toBe(422);
  }
  const numbers = { ...fields, is_active: "1", skip_ssl_verification: 0, secret: "" };
  expect((await call(api, "POST", "webhook", numbers)).json).toMatchObject({
    data: { is_active: true, skip_ssl_verification: false, has_secret: false },
  });
});

test("a webhook may have the URL of one of the other type", async () => {
  const api = apiOf();
  await call(api, "POST", "webhook", fields);
  const other = { ...fields, type: "delete_my_data_event" };
  expect((await call(api, "POST", "webhook", other)).status).toBe(201);
  expect((await call(api, "PUT", "webhook/2", { type: "new_alarm" })).status).toBe(422);
});

test("the twin delivers to the webhooks that are registered, signed with the secret of the moment", async () => {
  const { api, client } = await desk.gateway({ retry: { firstDelayMs: 720_000 } });
  const { url, handled, reports } = await desk.receiver({ secret: "the-second-secret" });
  const { id } = await client.webhooks.create({ ...hook, url, secret: "the-first-secret" });
  const delivering = api.twin.deliver({ alarm: sampleAlarm() });
  await expect.poll(() => reports.at(-1)?.outcome).toBe("signature_mismatch");
  // The next attempt is signed with it.
  await client.webhooks.update(id, { secret: "the-second-secret" });
  const [delivery] = await delivering;
  expect(delivery).toMatchObject({ end: "acknowledged", webhook: id });
  expect(handled).toEqual([delivery?.id]);
  const records = await client.attempts.list(id);
  const delivery_id = delivery?.id;
  expect(records[0]).toMatchObject({ id: 1, delivery_id, status: 409, webhook_id: 1 });
  expect(records.at(-1)).toMatchObject({ delivery_id, status: 200, error: null });
  expect(await client.attempts.get(id, 1)).toEqual(records[0]);

  await client.webhooks.update(id, { is_active: false, secret: "the-second-secret" });
  expect(await api.twin.deliver({ alarm: sampleAlarm() })).toEqual([]);
  await client.webhooks.delete(id);
  await expect(client.webhooks.get(id)).rejects.toMatchObject({ code: "not_found" });
});

test("the gateway stores why no answer arrived, and a moved webhook is delivered to its new URL", async () => {
  const { api, client } = await desk.gateway({ retry: { firstDelayMs: 720_000 } });
  const { url, handled } = await desk.receiver({ secret: "the-secret-of-the-desk" });
  const gone = await desk.server((_req, res) => res.end());
  const secret = "the-secret-of-the-desk";
  const { id } = await client.webhooks.create({ ...hook, url: gone.url, secret });
  await gone.close();
  const delivering = api.twin.deliver({ alarm: sampleAlarm() });
  await expect.poll(async () => (await client.attempts.list(id)).length).toBe(1);
  await client.webhooks.update(id, { url, secret });
  const [delivery] = await delivering;
  expect(handled).toEqual([delivery?.id]);
  const [first] = await client.attempts.list(id);
  expect(first).toMatchObject({
    status: null,
    error: expect.stringContaining("ECONNREFUSED") as string,
  });
});

describe("the records that the twin has delivered", () => {
  const login = { client_id: "partner", client_secret: "secret", email: "1007@example.com" };
  const own = sampleAlarm({ id: 1, account_id: 1007 });
  const other = sampleAlarm({ id: 2, account_id: 1008 });

  /** A client with the app token of account 1007, after alarms of two accounts and an event. */
  async function signedIn(options: GatewayApiOptions = {}) {
    const api = apiOf(options);
    await api.twin.deliverMany([
      { alarm: own },
      { alarm: other },
      { event: sampleOnlineDataEvent("DATA_DELETED", { account_id: 1007 }) },
      { type: "new_alarm", body: "no record" },
    ]);
    const client = await clientOf(api);
    const answer = await client.request("POST", "/api/v1/sso/token", { body: login, token: null });
    const { token } = answer as { token: string };
    return { api, client, app: { token } };
  }

  async function expectNotFound(client: ManagementClient, path: string, options = {}) {
    const call = client.request("GET", path, options);
    await expect(call).rejects.toMatchObject({ code: "not_found" });
  }

  test("are in the lists of their account", async () => {
    const { client, app } = await signedIn();
    for (const version of ["v1", "v2"]) {
      const alarms = await client.request("GET", `/api/${version}/alarms`, app);
      expect(alarms).toEqual({ data: [own] });
    }
    const events = await client.request("GET", "/api/v1/delete-my-data/events", app);
    expect(events).toMatchObject({ data: [{ type: "DATA_DELETED", account_id: 1007 }] });
  });

  test("may have fields of their own in a list", async () => {
    const { client, app } = await signedIn({ listedRecord: (record) => ({ listed: record }) });
    const alarms = await client.request("GET", "/api/v1/alarms", app);
    expect(alarms).toEqual({ data: [{ listed: own }] });
  });

  test("an alarm is closed by its account, and by the partner, but not by another account", async () => {
    const { client, app } = await signedIn();
    const closed = { data: { id: 1, status: "CLOSED" } };
    expect(await client.request("GET", "/api/v1/alarms/1/close", app)).toMatchObject(closed);
    expect(await client.request("GET", "/api/v1/account/1008/alarms/2/close")).toMatchObject({
      data: { id: 2, status: "CLOSED" },
    });
    await expectNotFound(client, "/api/v1/alarms/2/close", app);
    await expectNotFound(client, "/api/v1/account/1007/alarms/2/close");
  });

  test("the partner closes an alarm of any account without naming the account", async () => {
    const { client, app } = await signedIn();
    expect(await client.request("GET", "/api/v1/alarms/1/close")).toMatchObject({
      data: { id: 1, status: "CLOSED" },
    });
    const alarms = await client.request("GET", "/api/v1/alarms", app);
    expect(alarms).toEqual({ data: [{ ...own, status: "CLOSED" }] });
    await expectNotFound(client, "/api/v1/alarms/9/close");
  });

  test("an app token opens no webhook route, and a CRM token no list of an account", async () => {
    const { client, app } = await signedIn();
    await expectNotFound(client, "/api/v1/webhooks", app);
    await expectNotFound(client, "/api/v1/alarms");
  });

  test.each([{ email: "nobody@example.com" }, { client_secret: undefined }])(
    "a login with %j is refused",
    async (change) => {
      const { client } = await signedIn();
      const body = { ...login, ...change };
      const call = client.request("POST", "/api/v1/sso/token", { body, token: null });
      await expect(call).rejects.toMatchObject({ code: "unauthorized" });
    },
  );
});
