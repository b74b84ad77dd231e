import { describe, expect, test, vi } from "vitest";
import { createManagementClient } from "../../src/management/index.js";
import { canariesIn, shownOf, CANARIES } from "../support/canaries.js";
import { deferred, type Deferred } from "../support/deferred.js";
import {
  codeOf,
  failure,
  scriptedClient,
  scriptedGateway,
  TOKEN,
  webhookRecord,
  type SeenCall,
} from "../support/management/scripted-gateway.js";
import { throwing } from "../support/faults.js";

const baseUrl = "https://gateway.example";
const webhook = { title: "alarms", url: "https://partner.example/", type: "new_alarm" } as const;

/** A function for the token, which differs at each call. */
function loggingIn() {
  let logins = 0;
  return { token: () => `token-${String(++logins)}`, logins: () => logins };
}

function tokensOf(seen: readonly SeenCall[]): readonly (string | undefined)[] {
  return seen.map(({ headers }) => headers.get("authorization")?.replace("Bearer ", ""));
}

/** Whether a request has the first token, which the gateway refuses. */
function isOld({ headers }: RequestInit): boolean {
  return new Headers(headers).get("authorization") === "Bearer token-1";
}

describe("the token", () => {
  test("of a function is asked for once, and once more after a 401", async () => {
    const { token } = loggingIn();
    const answers = [{ json: [] }, { status: 401 }, { json: [] }, { status: 401 }];
    const { client, seen } = scriptedClient(answers, { token: () => Promise.resolve(token()) });
    expect(await client.webhooks.list()).toEqual([]);
    expect(await client.webhooks.list()).toEqual([]);
    expect(await codeOf(client.webhooks.list())).toBe("unauthorized");
    expect(tokensOf(seen)).toEqual(["token-1", "token-1", "token-2", "token-2", "token-3"]);
  });

  test("is renewed once for calls that are refused together", async () => {
    const { token, logins } = loggingIn();
    const fetch = (_url: string, init: RequestInit) =>
      Promise.resolve(new Response("[]", { status: isOld(init) ? 401 : 200 }));
    const client = createManagementClient({ baseUrl, token, fetch });
    await Promise.all(Array.from({ length: 20 }, () => client.webhooks.list()));
    expect(logins()).toBe(2);
  });

  test("of a function that failed once is asked for again by the next call", async () => {
    let logins = 0;
    const token = () =>
      (logins += 1) === 1 ? Promise.reject(new Error("the login is down")) : "token-2";
    const { client, seen } = scriptedClient([{ json: [] }], { token });
    expect(await codeOf(client.webhooks.list())).toBe("no_token");
    expect(await client.webhooks.list()).toEqual([]);
    expect(tokensOf(seen)).toEqual(["token-2"]);
  });

  test("that another call has renewed meanwhile is used, and not renewed again", async () => {
    const { token, logins } = loggingIn();
    const refusals: Deferred<Response>[] = [];
    const fetch = (_url: string, init: RequestInit) => {
      if (!isOld(init)) return Promise.resolve(new Response("[]"));
      const refusal = deferred<Response>();
      refusals.push(refusal);
      return refusal.promise;
    };
    const client = createManagementClient({ baseUrl, token, fetch });
    const calls = [client.webhooks.list(), client.webhooks.list()];
    await vi.waitUntil(() => refusals.length === 2);
    refusals[0]?.resolve(new Response("", { status: 401 }));
    expect(await calls[0]).toEqual([]);
    refusals[1]?.resolve(new Response("", { status: 401 }));
    expect(await calls[1]).toEqual([]);
    expect(logins()).toBe(2);
  });

  test("that is renewed uses up no retry", async () => {
    const answers = [{ status: 401 }, { status: 503 }, { json: [] }];
    const { client, seen } = scriptedClient(answers, { token: loggingIn().token, maxRetries: 1 });
    expect(await client.webhooks.list()).toEqual([]);
    expect(seen).toHaveLength(3);
  });

  test("as a text is not renewed", async () => {
    const { client, seen } = scriptedClient([{ status: 401 }]);
    expect(await codeOf(client.webhooks.list())).toBe("unauthorized");
    expect(seen).toHaveLength(1);
  });

  test.each([
    ["throws", throwing(new Error(CANARIES.secret))],
    ["rejects", () => Promise.reject(new Error(CANARIES.secret))],
    ["returns no text", () => undefined as unknown as string],
    ["returns a text for no header", () => `${CANARIES.secret}\n`],
    ["never returns", () => new Promise<string>(() => undefined)],
  ])("of a function that %s is no_token, without its text", async (_what, token) => {
    const { client, seen } = scriptedClient([{ json: [] }], { token, timeoutMs: 20 });
    const error = await failure(client.webhooks.list());
    expect(error.code).toBe("no_token");
    expect(canariesIn(shownOf(error))).toEqual([]);
    expect(seen).toEqual([]);
  });
});

describe("a retry", () => {
  test.each([
    ["a network error", new TypeError("fetch failed")],
    ["a 500", { status: 500 }],
    ["throttling", { status: 429, headers: { "retry-after": "0" } }],
    ["throttling of a legacy gateway", { status: 409, json: { message: "Too Many Attempts." } }],
  ])("of a GET follows %s", async (_what, first) => {
    const { client, seen } = scriptedClient([first, first, { json: [] }]);
    expect(await client.webhooks.list()).toEqual([]);
    expect(seen).toHaveLength(3);
  });

  test("of a GET ends after maxRetries", async () => {
    const { client, seen } = scriptedClient([{ status: 503 }], { maxRetries: 2 });
    expect(await codeOf(client.webhooks.list())).toBe("server_error");
    expect(seen).toHaveLength(3);
  });

  const headers = { "retry-after": "0" };

  test.each([
    ["a network error", new TypeError("fetch failed"), 1],
    ["a 500", { status: 500, headers }, 1],
    ["a 503 without a delay", { status: 503 }, 1],
    ["a conflict", { status: 409, json: { error: { code: "CONFLICT" } } }, 1],
    ["a 503 with a delay", { status: 503, headers }, 2],
    ["a 429 with a delay", { status: 429, headers }, 2],
    ["a conflict with a delay", { status: 409, headers, json: { error: { code: "CONFLICT" } } }, 2],
  ])("of a POST after %s: %#", async (_what, first, calls) => {
    const { client, seen } = scriptedClient([first, { status: 201, json: webhookRecord() }]);
    await Promise.allSettled([client.webhooks.create(webhook)]);
    expect(seen).toHaveLength(calls);
  });

  test("is not made when the gateway asks for more than a minute, and the error says how long", async () => {
    const { client, seen } = scriptedClient([{ status: 429, headers: { "retry-after": "3600" } }]);
    const error = await failure(client.webhooks.list());
    expect(error).toMatchObject({ code: "throttled", retryAfterMs: 3_600_000 });
    expect(error.message).toContain("try again in 3600 s");
    expect(seen).toHaveLength(1);
  });

  test.each([
    ["Thu, 01 Jan 1970 00:00:00 GMT", 0],
    ["soon", undefined],
    ["-1", undefined],
    ["1.5", undefined],
  ])("reads the delay %j", async (delay, retryAfterMs) => {
    const answer = { status: 429, headers: { "retry-after": delay } };
    const { client } = scriptedClient([answer], { maxRetries: 0 });
    await expect(client.webhooks.list()).rejects.toMatchObject({ code: "throttled", retryAfterMs });
  });

  test("waits as long as the gateway asks", async () => {
    const later = { status: 429, headers: { "retry-after": "1" } };
    const { client } = scriptedClient([later, { json: [] }]);
    const startedAt = performance.now();
    await client.webhooks.list();
    expect(performance.now() - startedAt).toBeGreaterThan(990);
  });
});

describe("a call that ends early", () => {
  test("is timeout after timeoutMs", async () => {
    const { client } = scriptedClient(["hang"], { timeoutMs: 20, maxRetries: 1 });
    expect(await codeOf(client.webhooks.list())).toBe("timeout");
  });

  test("is aborted by its own signal, by that of the client, and during a pause", async () => {
    const own = new AbortController();
    const ofClient = new AbortController();
    const { client } = scriptedClient(["hang"], { signal: ofClient.signal });
    const first = failure(client.webhooks.list({ signal: own.signal }));
    own.abort();
    expect((await first).code).toBe("aborted");
    const second = failure(client.webhooks.list());
    ofClient.abort();
    expect((await second).code).toBe("aborted");
    expect(await codeOf(client.webhooks.list())).toBe("aborted");

    const abort = new AbortController();
    const answers = [{ status: 429, headers: { "retry-after": "50" } }];
    const waiting = scriptedClient(answers, { signal: abort.signal });
    const third = failure(waiting.client.webhooks.list());
    setTimeout(() => abort.abort(), 20);
    expect((await third).code).toBe("aborted");
  });
});

describe("an update", () => {
  const answers = (before: object, after: object) => [
    { json: webhookRecord(before as Record<string, unknown>) },
    {},
    { json: webhookRecord({ ...before, ...after }) },
  ];

  test("sends the whole record with the changes, and nothing that is the gateway's own", async () => {
    const before = { has_secret: false, is_active: 1, region: "eu" };
    const { client, seen } = scriptedClient(answers(before, { title: "new" }));
    expect((await client.webhooks.update(7, { title: "new" })).title).toBe("new");
    const ofGateway = ["id", "has_secret", "created_at"];
    const fields = Object.entries(webhookRecord({ title: "new", region: "eu" }));
    const sent = fields.filter(([name]) => !ofGateway.includes(name));
    expect(seen[1]?.body).toEqual(Object.fromEntries(sent));
  });

  test.each([[true], [undefined]])(
    "without the secret is refused before it is sent when has_secret is %s",
    async (has_secret) => {
      const { client, seen } = scriptedClient(answers({ has_secret }, {}));
      expect(await codeOf(client.webhooks.update(7, { title: "new" }))).toBe("secret_required");
      expect(seen.map(({ method }) => method)).toEqual(["GET"]);
    },
  );

  test("without the secret, on request, fails if the gateway then has none", async () => {
    const { client } = scriptedClient(answers({}, { title: "new", has_secret: 0 }));
    const update = client.webhooks.update(7, { title: "new" }, { withoutSecret: true });
    const details = [{ field: "has_secret", issue: "is false" }];
    expect(await failure(update)).toMatchObject({ code: "update_not_applied", details });
  });

  test("is applied when the gateway spells the URL in another way", async () => {
    const url = "https://partner.example/";
    const { client } = scriptedClient(answers({ has_secret: false }, { url }));
    const updated = await client.webhooks.update(7, { url: "https://PARTNER.example" });
    expect(updated.url).toBe(url);
  });

  test("fails if a field has another value afterwards", async () => {
    const { client } = scriptedClient(answers({ has_secret: false }, { is_active: "0" }));
    const update = client.webhooks.update(7, { title: "new", secret: "a-new-secret" });
    const details = [
      { field: "title", issue: "has another value than was sent" },
      { field: "is_active", issue: "is false" },
      { field: "has_secret", issue: "is false" },
    ];
    expect(await failure(update)).toMatchObject({ code: "update_not_applied", details });
  });

  test.each([[undefined], [""], [" padded"], ["undefined"]])(
    "with the unusable secret %j is refused before anything is sent",
    async (secret) => {
      const { client, seen } = scriptedClient([{ json: webhookRecord() }]);
      const changes = { secret } as { secret: string };
      await expect(client.webhooks.update(7, changes)).rejects.toThrow("secret ");
      await expect(client.webhooks.create({ ...webhook, ...changes })).rejects.toThrow("secret ");
      expect(seen).toEqual([]);
    },
  );
});

test("an answer of more than 64 MiB is refused before its end", async () => {
  const piece = new Uint8Array(1_048_576).fill(32);
  let pulled = 0;
  const pull = (to: ReadableStreamDefaultController) => {
    pulled += 1;
    to.enqueue(piece);
  };
  const fetch = () => Promise.resolve(new Response(new ReadableStream({ pull })));
  const client = createManagementClient({ baseUrl, token: TOKEN, fetch });
  expect(await codeOf(client.webhooks.get(7))).toBe("unexpected_answer");
  expect(pulled).toBeLessThan(80);
});

test("no error holds the token, a secret or a password, however the gateway or fetch quotes them", async () => {
  const secret = `${CANARIES.secret}<&">\u00e9`;
  const escaped = Array.from(secret, (char) => char.charCodeAt(0).toString(16).padStart(4, "0"));
  const quotes = [
    secret,
    encodeURIComponent(secret),
    JSON.stringify(secret),
    secret.slice(0, 12),
    secret.toUpperCase(),
    Buffer.from(secret).toString("base64"),
    `\\u${escaped.join("\\u")}`,
    `&#x${escaped.join(";&#x")};`,
    secret.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;"),
  ];
  const quoted = `${TOKEN} ${quotes.join(" ")}`;
  const details = [{ field: quoted, issue: quoted }];
  const leaks = [
    { status: 422, json: { error: { code: quoted, message: quoted, details } } },
    { status: 400, json: { errors: { [quoted]: [quoted] } } },
    { status: 500, json: { message: quoted } },
    { status: 500, text: quoted },
    { status: 302, headers: { location: `https://x.example/?${secret}` } },
    Object.assign(new TypeError(quoted), { cause: new Error(quoted), code: quoted }),
  ];
  for (const leak of leaks) {
    const { fetch } = scriptedGateway(leak);
    const client = createManagementClient({ baseUrl, token: TOKEN, fetch, maxRetries: 0 });
    const error = await failure(client.webhooks.create({ ...webhook, secret }));
    expect(canariesIn(shownOf(error), [TOKEN, ...quotes])).toEqual([]);
  }
});

test("an error of a call with a secret has the gateway's code and the fields that were sent, and no text", async () => {
  const secret = "WHSEC_CANARY_OF_CAPITALS";
  const fields = ["url", "/data/attributes/title", secret];
  const details = fields.map((field) => ({ field, issue: "Bad." }));
  const create = async (code: string) => {
    const answer = { status: 422, json: { error: { code, message: "No.", details } } };
    const { client } = scriptedClient([answer], { maxRetries: 0 });
    return failure(client.webhooks.create({ ...webhook, secret }));
  };
  const error = await create("VALIDATION_ERROR");
  expect(error.message).toBe(
    "POST api/v1/webhook was answered 422 VALIDATION_ERROR: url: was refused; title: was refused",
  );
  expect(error.details.map(({ field }) => field)).toEqual(["url", "title"]);
  for (const code of [secret, secret.slice(0, 12), `NO_${secret}`, "not a code"]) {
    expect((await create(code)).gatewayCode).toBeUndefined();
  }
});

test.each([
  ["whole", TOKEN],
  ["cut", TOKEN.slice(0, 20)],
  ["in base64", btoa(TOKEN)],
  ["in capitals", TOKEN.toUpperCase()],
])(
  "an error of a call without a secret keeps its text, and shows no token that is quoted %s",
  async (_how, quoted) => {
    const message = `Webhooks need enable_requests_history; your token is ${quoted}.`;
    const { client } = scriptedClient([{ status: 403, json: { message } }]);
    const shown = (await failure(client.webhooks.list())).message;
    expect(shown).toContain("Webhooks need enable_requests_history; your token is [hidden]");
    expect(shown).not.toContain(quoted.slice(0, 12));
  },
);

test("the message of an error escapes control characters of the gateway's text", async () => {
  const message = "a\u001b[2Jb\r\nc\u202ed";
  const { client } = scriptedClient([{ status: 403, json: { message } }]);
  const error = await failure(client.webhooks.list());
  expect(error.message).toContain("a\\u001b[2Jb\\u000d\\u000ac\\u202ed");
});

test("an id with half of a surrogate pair is not found, and nothing is sent", async () => {
  const { client, seen } = scriptedClient([{ json: webhookRecord() }]);
  expect(await codeOf(client.webhooks.get("\ud800"))).toBe("not_found");
  expect(await codeOf(client.attempts.get(7, "a\udfff"))).toBe("not_found");
  expect(seen).toEqual([]);
});
