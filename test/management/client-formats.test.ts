import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  attemptReader,
  checkWebhooks,
  createManagementClient,
  crmLogin,
  ManagementError,
  reconcileDeliveries,
} from "../../src/management/index.js";
import {
  codeOf,
  failure,
  scriptedClient,
  scriptedGateway,
  TOKEN,
  webhookRecord,
} from "../support/management/scripted-gateway.js";

const baseUrl = "https://gateway.example";

describe("a call", () => {
  test("sends the token and the version, and no body with a GET", async () => {
    const { client, seen } = scriptedClient([{ json: [] }]);
    expect(await client.webhooks.list()).toEqual([]);
    const [call] = seen;
    expect(call).toMatchObject({ method: "GET", path: "/api/v1/webhooks", body: undefined });
    expect(call?.headers.get("authorization")).toBe(`Bearer ${TOKEN}`);
    expect(call?.headers.get("x-api-version")).toBe("2026-06-12");
  });

  test("that creates a webhook sends the default for a field that is undefined", async () => {
    const { client, seen } = scriptedClient([{ json: webhookRecord() }]);
    const webhook = {
      title: "alarms",
      url: "https://partner.example/",
      type: "new_alarm",
    } as const;
    const defaults = {
      is_active: true,
      skip_ssl_verification: false,
      enable_requests_history: true,
    };
    const none = { is_active: undefined, enable_requests_history: undefined };
    await client.webhooks.create({ ...webhook, ...none });
    expect(seen[0]?.body).toEqual({ ...webhook, ...defaults });
  });

  test("of a single attempt keeps a field that is called data", async () => {
    const { client } = scriptedClient([{ json: { id: 1, data: { body: "{}" } } }]);
    expect(await client.attempts.get(7, 1)).toEqual({ id: 1, data: { body: "{}" } });
  });

  test("names each of the seven routes", async () => {
    const record = { json: webhookRecord({ has_secret: false }) };
    const answers = [record, { json: [] }, record, record, {}, record, { status: 204 }];
    const attempts = [{ json: [{ any: 1 }] }, { json: { data: { any: 1 } } }];
    const { client, seen } = scriptedClient([...answers, ...attempts]);
    await client.webhooks.create({ title: "alarms", url: baseUrl, type: "new_alarm" });
    await client.webhooks.list();
    await client.webhooks.get(7);
    await client.webhooks.update("7", {});
    await client.webhooks.delete("7");
    expect(await client.attempts.list(7)).toEqual([{ any: 1 }]);
    expect(await client.attempts.get(7, "a/b")).toEqual({ any: 1 });
    expect(seen.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "POST /api/v1/webhook",
      "GET /api/v1/webhooks",
      "GET /api/v1/webhook/7",
      "GET /api/v1/webhook/7",
      "PUT /api/v1/webhook/7",
      "GET /api/v1/webhook/7",
      "DELETE /api/v1/webhook/7",
      "GET /api/v1/webhook/7/requests",
      "GET /api/v1/webhook/7/requests/a%2Fb",
    ]);
  });
});

describe("a webhook", () => {
  test.each([
    ["numbers", { has_secret: 1, is_active: 0 }],
    ["texts", { has_secret: "1", is_active: "false" }],
  ])("is read in the format of %s", async (_name, fields) => {
    const json = { data: webhookRecord({ ...fields, extra: "kept" }) };
    const { client } = scriptedClient([{ json }]);
    const webhook = await client.webhooks.get(7);
    expect(webhook).toMatchObject({ id: "7", has_secret: true, is_active: false });
    expect(webhook.raw["extra"]).toBe("kept");
  });

  test("has undefined for a boolean that is missing or of no known form", async () => {
    const { client } = scriptedClient([{ json: [webhookRecord({ has_secret: "yes" })] }]);
    const [webhook] = await client.webhooks.list();
    expect(webhook?.has_secret).toBeUndefined();
  });

  test("never has the secret, even if the gateway returns it", async () => {
    const { client } = scriptedClient([{ json: webhookRecord({ secret: "returned-secret-1" }) }]);
    expect(JSON.stringify(await client.webhooks.get(7))).not.toContain("returned-secret-1");
  });

  test.each([[null], ["text"], [[]], [{}], [{ id: 1 }], [{ data: { id: "" } }]])(
    "is refused as unexpected_answer when the gateway returns %j",
    async (json) => {
      const { client } = scriptedClient([{ json }]);
      expect(await codeOf(client.webhooks.get(7))).toBe("unexpected_answer");
    },
  );
});

describe("a list", () => {
  test.each([
    [{ data: [], next_page_url: "https://gateway.example/api/v1/webhooks?page=2" }],
    [{ data: [], meta: { current_page: 1, last_page: 2 } }],
    [{ data: [], links: { next: "/api/v1/webhooks?page=2" } }],
    [{ data: [], links: { next: { href: "/api/v1/webhooks?page=2" } } }],
    [{ data: [], meta: { total_pages: 2 } }],
    [{ data: [], meta: { pagination: { total_pages: "2" } } }],
    [{ data: [], pagination: { page: 1, pages: 2 } }],
    [{ data: [1], meta: { total: 2 } }],
    [{ data: [], hasMore: true }],
    [{ data: [], next_page: 2 }],
    [{ data: [], next_page_token: "abc" }],
  ])("that names a next page is an error, since none is documented: %j", async (json) => {
    const { client } = scriptedClient([{ json }]);
    expect(await codeOf(client.webhooks.list())).toBe("incomplete_list");
  });

  test("whose header links a next page is an error, and one without is complete", async () => {
    const link = (value: string) => scriptedClient([{ json: [], headers: { link: value } }]).client;
    for (const value of ['</a>; rel="last", </b>; rel="next"', "</b>; rel=next"]) {
      expect(await codeOf(link(value).webhooks.list())).toBe("incomplete_list");
    }
    expect(await link('</next>; rel="prev"; title="next"').webhooks.list()).toEqual([]);
    const meta = { current_page: 1, last_page: 1, total_pages: 1, total: 1, next_page_url: null };
    const complete = { data: [webhookRecord()], meta, hasMore: false };
    const { client } = scriptedClient([{ json: complete }]);
    expect(await client.webhooks.list()).toHaveLength(1);
  });

  test("may have more items than a call can have arguments", async () => {
    const { client } = scriptedClient([{ json: Array.from({ length: 200_000 }, () => 0) }]);
    expect(await client.attempts.list(7)).toHaveLength(200_000);
  });

  test.each([[null], [undefined], [""]])(
    "ends with nextPage that returns %j, after a query of the same path from a header",
    async (end) => {
      const nextPage = (_body: unknown, headers: Headers) => headers.get("x-next") ?? end;
      const pages = [{ json: [1], headers: { "x-next": "?page=2" } }, { json: [2] }];
      const { client, seen } = scriptedClient(pages, { nextPage });
      expect(await client.attempts.list(7)).toEqual([1, 2]);
      expect(seen.map(({ path }) => path)).toEqual([
        "/api/v1/webhook/7/requests",
        "/api/v1/webhook/7/requests?page=2",
      ]);
    },
  );

  test("is read page by page with nextPage, and only from the gateway", async () => {
    const nextPage = (body: unknown) => (body as { next?: string }).next;
    const pages = [
      { json: { data: [webhookRecord()], next: "/api/v1/webhooks?page=2" } },
      { json: { data: [webhookRecord({ id: 8 })] } },
    ];
    const { client, seen } = scriptedClient(pages, { nextPage });
    expect((await client.webhooks.list()).map(({ id }) => id)).toEqual(["7", "8"]);
    expect(seen[1]?.path).toBe("/api/v1/webhooks?page=2");

    const elsewhere = { json: { data: [], next: "https://other.example/" } };
    const away = scriptedClient([elsewhere], { nextPage });
    expect(await codeOf(away.client.webhooks.list())).toBe("incomplete_list");
    expect(away.seen).toHaveLength(1);
  });
});

describe("an error", () => {
  const taken = { field: "url", issue: "taken" };
  const ofGateway = { code: "VALIDATION_ERROR", message: "Invalid.", details: [taken] };
  const ofPointer = { detail: "taken", source: { pointer: "/url" } };
  const bad = { field: "url", issue: "bad" };
  const short = { field: "title", issue: "short" };

  test.each([
    [422, { error: ofGateway }, "validation_failed", "VALIDATION_ERROR", [taken]],
    [422, { errors: ["taken"] }, "validation_failed", undefined, [{ ...taken, field: "" }]],
    [400, { errors: [ofPointer] }, "validation_failed", undefined, [{ ...taken, field: "/url" }]],
    [422, { errors: { url: ["taken", "bad"] } }, "validation_failed", undefined, [taken, bad]],
    [422, { errors: { title: "short" } }, "validation_failed", undefined, [short]],
    [403, { error: "no" }, "forbidden", undefined, []],
    [404, { message: "no" }, "not_found", undefined, []],
    [409, { error: { code: "CONFLICT", message: "Too many of them" } }, "conflict", "CONFLICT", []],
    [409, { message: "exists" }, "conflict", undefined, []],
    [409, { message: "Too Many Attempts." }, "throttled", undefined, []],
    [429, { error: { code: "RATE_LIMITED", message: "slow" } }, "throttled", "RATE_LIMITED", []],
    [418, {}, "unexpected_answer", undefined, []],
    [500, undefined, "server_error", undefined, []],
    [302, undefined, "unexpected_answer", undefined, []],
  ])("of %i is read from %j", async (status, json, code, gatewayCode, details) => {
    const headers = { "content-type": "application/vnd.api+json" };
    const answer = { status, json, headers, text: "<html>" };
    const { client } = scriptedClient([answer], { maxRetries: 0 });
    const error = await failure(client.webhooks.get(7));
    expect(error).toMatchObject({ code, status, gatewayCode, details });
    expect(error.message).not.toContain("<html>");
  });
});

test.each([
  [404, "<!doctype html><h1>Not Found</h1>"],
  [200, "<html>Login</html>"],
])("an answer of %i that is no JSON is not taken for the gateway's", async (status, text) => {
  const { client, seen } = scriptedClient([{ status, text }]);
  const error = await failure(client.webhooks.list());
  expect(error).toMatchObject({ code: "unexpected_answer", status });
  expect(error.message).toContain("does not look like the gateway's API: correct baseUrl");
  expect(error.message).not.toContain(text);
  expect(seen).toHaveLength(1);
});

test("a 404 without a body is that of the gateway", async () => {
  const { client } = scriptedClient([{ status: 404 }]);
  expect(await codeOf(client.webhooks.get(7))).toBe("not_found");
});

test("a list that is none is refused, and its route named, as is that of a webhook that is none", async () => {
  const { client } = scriptedClient([{ json: { data: {} } }]);
  const refused = await failure(client.webhooks.list());
  expect([refused.code, refused.message]).toEqual([
    "unexpected_answer",
    expect.stringContaining("GET api/v1/webhooks"),
  ]);
  expect((await failure(client.webhooks.get(7))).message).toContain("GET api/v1/webhook/7");
});

test.each([
  ["that never end", "/api/v1/webhooks"],
  ["at no URL", "http://["],
])("pages %s are refused", async (_what, next) => {
  const { client } = scriptedClient([{ json: [] }], { nextPage: () => next });
  expect(await codeOf(client.webhooks.list())).toBe("incomplete_list");
});

describe("the login", () => {
  test("refuses credentials that are no object", async () => {
    const given = { baseUrl, credentials: "password" as unknown as Record<string, unknown> };
    await expect(crmLogin(given)).rejects.toMatchObject({ name: "ConfigurationError" });
  });

  test("passes other fields through and reads the session", async () => {
    const expiresAt = new Date("2026-10-09T11:00:00Z");
    const json = { token: TOKEN, expires_at: "2026-10-09T11:00:00+00:00", expires_in: 3600 };
    const { fetch, seen } = scriptedGateway({ json });
    const credentials = { email: "partner@example.com", password: "pass-word-1" };
    const session = await crmLogin({ baseUrl, credentials, keepLogged: true, fetch });
    expect(session).toEqual({ token: TOKEN, expiresInSeconds: 3600, expiresAt });
    expect(seen[0]).toMatchObject({
      method: "POST",
      path: "/api/v1/crm/auth/login",
      body: { ...credentials, keep_logged: true },
    });
    expect(seen[0]?.headers.has("authorization")).toBe(false);
  });

  test("shows no credential that the gateway quotes, also if it is a number", async () => {
    const credentials = { user: "partner@example.com", pin: 830_417, more: [5_550_123] };
    const message = "pin 830417 of partner@example.com, 5550123";
    const { fetch } = scriptedGateway({ status: 422, json: { message } });
    const error = await failure(crmLogin({ baseUrl, credentials, fetch }));
    expect(error.message).not.toMatch(/830417|partner@example|5550123/);
  });

  test("takes an answer without dates, and refuses one without a token", async () => {
    const login = (json: object) =>
      crmLogin({ baseUrl, credentials: {}, fetch: scriptedGateway({ json }).fetch });
    const undated = { token: "x", expiresAt: undefined, expiresInSeconds: undefined };
    expect(await login({ data: { token: "x", expires_at: "soon" } })).toEqual(undated);
    expect(await codeOf(login({}))).toBe("unexpected_answer");
  });
});

test.each([
  [{ baseUrl: "gateway.example" }],
  [{ baseUrl: "ftp://gateway.example" }],
  [{ baseUrl: "https://user:pass-word-1@gateway.example" }],
  [{ baseUrl: "https://gateway.example/?a=1" }],
  [{ baseUrl: "http://gateway.example" }],
  [{ baseUrl: "http://gateway.example", allowHttp: 1 }],
  [{ token: "" }],
  [{ token: "line\nend-canary" }],
  [{ timeoutMs: 0 }],
  [{ maxRetries: 11 }],
  [{ apiVersion: "" }],
  [{ fetch: 1 }],
  [{ tokn: "x" }],
])("createManagementClient refuses %j without repeating it", (options) => {
  const make = () => createManagementClient({ baseUrl, token: TOKEN, ...(options as object) });
  expect(make).toThrow(expect.objectContaining({ name: "ConfigurationError" }));
  expect(make).not.toThrow(/pass-word-1|end-canary/);
});

test.each([
  [{ baseUrl: "http://localhost:4010" }],
  [{ baseUrl: "http://gateway.internal", allowHttp: true }],
])("a client and a login take %j", async (options) => {
  const { fetch } = scriptedGateway({ json: { token: TOKEN } }, { json: [] });
  const { token } = await crmLogin({ ...options, credentials: {}, fetch });
  expect(await createManagementClient({ ...options, token, fetch }).webhooks.list()).toEqual([]);
});

test("a login refuses an http address of another machine before it sends the password", async () => {
  const { fetch, seen } = scriptedGateway({ json: { token: TOKEN } });
  const login = crmLogin({ baseUrl: "http://gateway.example", credentials: {}, fetch });
  await expect(login).rejects.toThrow("allowHttp");
  expect(seen).toEqual([]);
});

test("ids that would name another route are refused", async () => {
  const { client, seen } = scriptedClient([{ json: [] }]);
  for (const id of ["", ".", ".."]) {
    await expect(client.webhooks.get(id)).rejects.toThrow("must be an id");
  }
  expect(seen).toEqual([]);
});

const readAttempt = attemptReader({ deliveryId: "id", status: "status", at: "at", body: "body" });

/** Any JSON under each of these names. */
function fieldsOf(...names: readonly string[]) {
  return Object.fromEntries(names.map((name) => [name, fc.jsonValue()]));
}

/** JSON that resembles what the gateway sends, and any other JSON. */
const json = fc.oneof(
  fc.jsonValue(),
  fc.record(fieldsOf("data", "error", "errors", "message"), { requiredKeys: [] }),
  fc.array(fc.record(fieldsOf("id", "url", "type", "at"))),
  fc.constantFrom(JSON.parse('{"__proto__":{"data":[]},"constructor":1}') as unknown),
);

test("whatever the gateway answers, a call resolves or rejects with a ManagementError", async () => {
  const property = fc.asyncProperty(
    json,
    fc.constantFrom(200, 201, 204, 302, 400, 401, 403, 404, 409, 418, 422, 429, 500, 503),
    async (body, status) => {
      const answer = status === 204 ? { status } : { status, json: body };
      const { client } = scriptedClient([answer], { maxRetries: 0 });
      const { webhooks, attempts } = client;
      const fetch = () => Promise.resolve(new Response("{}", { status: 409 }));
      const calls = [
        webhooks.list(),
        webhooks.get(1),
        webhooks.update(1, { title: "a" }),
        webhooks.delete(1),
        attempts.list(1),
        attempts.get(1, 1),
        checkWebhooks(client, { url: "https://partner.example/", fetch }),
      ];
      for (const ended of await Promise.allSettled<unknown>(calls)) {
        if (ended.status === "rejected") expect(ended.reason).toBeInstanceOf(ManagementError);
      }
    },
  );
  await fc.assert(property, { numRuns: 300 });
});

test("whatever a stored attempt holds, it is read or counted as unreadable", async () => {
  const property = fc.asyncProperty(fc.array(json), async (records) => {
    const { client } = scriptedClient([{ json: [webhookRecord()] }, { json: records }]);
    const report = await reconcileDeliveries(client, { since: new Date(0), readAttempt });
    expect(report.attempts).toBe(records.length);
    expect(report.unreadable).toBeLessThanOrEqual(records.length);
  });
  await fc.assert(property, { numRuns: 300 });
});
