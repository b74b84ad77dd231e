import { describe, expect, test } from "vitest";
import {
  checkWebhooks,
  createManagementClient,
  createWebhookSecret,
  crmLogin,
  probeReceiver,
  registerWebhooks,
  type ManagementClientOptions,
  type NewWebhook,
} from "../../src/management/index.js";
import type { GatewayApi } from "../../kit/index.js";
import type { CheckOptions } from "../../src/management/check-webhooks.js";
import { desk, type DeskGateway } from "../support/management/desk.js";
import { failure, scriptedClient } from "../support/management/scripted-gateway.js";

const secret = createWebhookSecret();
const quick = { inARow: 3, intervalMs: 1, waitMs: 500 };
const ALARMS = ["new_alarm"] as const;
const BOTH = ["new_alarm", "delete_my_data_event"] as const;
/** The options of a receiver that accepts any signature. */
const OPEN = { secret: undefined, acceptUnsignedDeliveries: true } as object;

/** A right set-up: both types at one receiver. */
async function rightSetUp() {
  const gateway = await desk.gateway();
  const receiver = await desk.receiver({ secret });
  const result = await registerWebhooks(gateway.client, { url: receiver.url, secret, ...quick });
  expect(result.result).toBe("registered");
  return { ...gateway, ...receiver };
}

async function codesOf(
  { client, url }: Pick<DeskGateway, "client"> & { readonly url: string },
  options: Partial<CheckOptions> = {},
) {
  const { findings } = await checkWebhooks(client, { url, secret, ...options });
  for (const one of findings)
    expect([one.consequence, one.fix].every((text) => text.length > 20)).toBe(true);
  return findings.map(({ code, type }) => (type === undefined ? code : `${code} ${type}`));
}

describe("a probe", () => {
  test("tells whether a receiver accepts a secret, and runs nothing there", async () => {
    const { url, handled, reports } = await desk.receiver({ secret: ["another-secret-1", secret] });
    const probe = (one: string, type: "new_alarm" | "delete_my_data_event" = "new_alarm") =>
      probeReceiver(url, { secret: one, type });
    expect(await probe(secret)).toEqual({ result: "accepted", status: 409, outcome: "stale" });
    expect(await probe(secret, "delete_my_data_event")).toMatchObject({ result: "accepted" });
    const refused = { result: "refused", outcome: "signature_mismatch" };
    expect(await probe("a-secret-that-is-unknown")).toMatchObject(refused);
    expect(handled).toEqual([]);
    expect(reports.map(({ outcome }) => outcome)).toEqual(["stale", "stale", "signature_mismatch"]);
  });

  test("runs nothing at a receiver that tolerates its timestamp", async () => {
    const calls: string[] = [];
    const { url, handled } = await desk.receiver({
      secret,
      timestampToleranceMs: 7 * 86_400_000,
      handlers: {
        new_alarm: () => calls.push("alarm"),
        delete_my_data_event: () => calls.push("event"),
        unrecognized: () => calls.push("unrecognized"),
      },
      store: {
        claim: () => (calls.push("claim"), { state: "completed" }),
        renew: () => true,
        complete: () => undefined,
        release: () => undefined,
      },
    });
    const accepted = { result: "accepted", outcome: "type_mismatch" };
    for (const type of BOTH) {
      expect(await probeReceiver(url, { secret, type })).toMatchObject(accepted);
    }
    expect([...calls, ...handled]).toEqual([]);
  });

  test("keeps no connection: a kept one would lead to the same replica each time", async () => {
    const connections: (string | undefined)[] = [];
    const { url } = await desk.server(({ headers }, res) => {
      connections.push(headers.connection);
      res.end();
    });
    await probeReceiver(url, { secret, type: "new_alarm" });
    expect(connections).toEqual(["close"]);
  });

  test.each([
    [200, "<html>", "unclear"],
    [200, '{"outcome":"handled"}', "unclear"],
    [409, '{"error":{"code":"STALE"}}', "accepted"],
    [401, '{"error":{"code":"SIGNATURE_MISMATCH"}}', "refused"],
    [503, '{"error":{"code":"\\u001b[2J"}}', "unclear"],
    [302, "", "unclear"],
  ])("reads an answer of %i %s as %s", async (status, body, result) => {
    const { url } = await desk.server((_req, res) => res.writeHead(status).end(body));
    const answer = await probeReceiver(url, { secret, type: "new_alarm" });
    expect(answer).toMatchObject({ result, status });
    expect(JSON.stringify(answer)).not.toContain("001b");
  });
});

describe("register", () => {
  test("creates one webhook per type, with history on and TLS verified, and none twice", async () => {
    const { client, url } = await rightSetUp();
    const webhooks = await client.webhooks.list();
    const on = { has_secret: true, is_active: true, enable_requests_history: true };
    const shared = { ...on, url, skip_ssl_verification: false };
    const title = (type: string) => `identity-gateway-webhooks ${type}`;
    expect(webhooks).toMatchObject(BOTH.map((type) => ({ ...shared, type, title: title(type) })));
    const again = await registerWebhooks(client, { url: `${url}?`.slice(0, -1), secret, ...quick });
    expect(again).toMatchObject({ result: "registered", created: [], existing: webhooks });
  });

  test("creates nothing while the receiver is down, has another secret or accepts any", async () => {
    const { client } = await desk.gateway();
    const other = await desk.receiver();
    const any = await desk.receiver(OPEN);
    const { url, close } = await desk.server((_req, res) => res.end());
    await close();
    const register = (to: string) =>
      registerWebhooks(client, { url: to, secret, ...quick, waitMs: 0 });
    expect(await register(url)).toEqual({ result: "unreachable", status: undefined });
    const refusal = { url: other.url, result: "refused" };
    const result = "secret_not_accepted";
    const refused = { result, proof: { result: "not_accepted", refusal } };
    expect(await register(other.url)).toMatchObject(refused);
    const trusting = { result, proof: { result: "accepts_any" } };
    expect(await register(any.url)).toMatchObject(trusting);
    expect(await client.webhooks.list()).toEqual([]);
  });

  /** A client of a gateway, through a `fetch` of its own. */
  async function clientOver(api: GatewayApi, fetch: NonNullable<ManagementClientOptions["fetch"]>) {
    const baseUrl = "https://desk.example";
    const { token } = await crmLogin({ baseUrl, credentials: {}, fetch: api.fetch });
    return createManagementClient({ baseUrl, token, fetch });
  }

  /**
   * A gateway over `fetch` whose answer to a POST is replaced, after the webhook is created or instead. An undefined
   * answer leaves that of the gateway.
   */
  async function answeringPost(answer: () => Response | Error | undefined, creates: boolean) {
    const { api } = await desk.gateway();
    const posts: string[] = [];
    const fetch = async (to: string, init: RequestInit): Promise<Response> => {
      if (init.method !== "POST" || to.endsWith("/login")) return api.fetch(to, init);
      posts.push((JSON.parse(init.body as string) as NewWebhook).type);
      const made = creates ? await api.fetch(to, init) : undefined;
      const given = answer() ?? made;
      if (given === undefined || given instanceof Error) throw given ?? new Error("no answer");
      return given;
    };
    return { client: await clientOver(api, fetch), posts };
  }

  test.each([
    ["an empty 201", () => new Response(null, { status: 201 })],
    ["a 502 of a proxy", () => new Response("<html>", { status: 502 })],
    ["a lost connection", () => new TypeError("fetch failed")],
  ])(
    "finds what it created in the list after %s, and creates none twice",
    async (_what, answer) => {
      const { client, posts } = await answeringPost(answer, true);
      const { url } = await desk.receiver({ secret });
      const registered = await registerWebhooks(client, { url, secret, ...quick });
      const created = BOTH.map((type) => ({ type }));
      const all = { result: "registered", existing: [], findings: [], created };
      expect(registered).toMatchObject(all);
      expect(posts).toEqual(BOTH);
      expect(await client.webhooks.list()).toHaveLength(2);
    },
  );

  const conflict = () => Response.json({ error: { code: "CONFLICT" } }, { status: 409 });

  test.each([
    ["409", conflict],
    ["422", () => undefined],
  ])("does not claim the secret of a webhook that a %s is about", async (_status, refusal) => {
    // As a proxy that loses the first answer. The client repeats the creation, and the gateway refuses the second one.
    let posts = 0;
    const lost = () => new Response(null, { status: 503, headers: { "retry-after": "0" } });
    const repeated = await answeringPost(() => {
      posts += 1;
      if (posts === 1) return lost();
      return posts === 2 ? refusal() : undefined;
    }, true);
    const { url } = await desk.receiver({ secret });
    const [existing, created] = BOTH.map((type) => [{ type }]);
    const registered = { result: "registered", existing, created };
    const work = registerWebhooks(repeated.client, { url, secret, ...quick });
    expect(await work).toMatchObject(registered);
    expect(repeated.posts).toEqual(["new_alarm", "new_alarm", "delete_my_data_event"]);
    expect(await repeated.client.webhooks.list()).toHaveLength(2);
  });

  test.each([
    ["conflict", conflict],
    ["unexpected_answer", () => new Response(null, { status: 201 })],
  ])(
    "rejects with the %s of a creation that the list does not show, and tries it once",
    async (code, answer) => {
      const { client, posts } = await answeringPost(answer, false);
      const { url } = await desk.receiver({ secret });
      const error = await failure(registerWebhooks(client, { url, secret, ...quick }));
      expect(error.code).toBe(code);
      expect(posts).toEqual(["new_alarm"]);
    },
  );

  test("finds that the gateway dropped the secret, and a webhook of the type elsewhere", async () => {
    const { api, register } = await desk.gateway();
    const { url } = await desk.receiver({ secret });
    const old = await desk.receiver({ secret });
    await register(old.url, secret);
    const dropping = await clientOver(api, (to, init) => {
      const body = JSON.parse((init.body as string | undefined) ?? "null") as object | null;
      const kept = body === null ? {} : { body: JSON.stringify({ ...body, secret: undefined }) };
      return api.fetch(to, { ...init, ...kept });
    });
    const result = await registerWebhooks(dropping, { url, secret, types: ALARMS, ...quick });
    if (result.result !== "registered") throw new Error(result.result);
    expect(result.created).toHaveLength(1);
    expect(result.findings.map(({ code, webhookId }) => [code, webhookId])).toEqual([
      ["no_secret", "2"],
      ["second_webhook", "1"],
    ]);
  });

  test("asks no receiver whether it accepts the secret if there is nothing to create", async () => {
    const { client, url, reports } = await rightSetUp();
    const { length } = reports;
    const next = createWebhookSecret();
    const again = await registerWebhooks(client, { url, secret: next, ...quick });
    expect(again).toMatchObject({ result: "registered", created: [], existing: [{}, {}] });
    expect(reports.slice(length).map(({ outcome }) => outcome)).toEqual(["reachable"]);
  });

  test("asks the gateway before it waits for the receiver", async () => {
    const { client } = scriptedClient([{ status: 401 }]);
    const { url, reports } = await desk.receiver();
    const waiting = registerWebhooks(client, { url, secret, ...quick, waitMs: 600_000 });
    await expect(waiting).rejects.toMatchObject({ code: "unauthorized" });
    expect(reports.map(({ outcome }) => outcome)).toEqual(["reachable"]);
  });
});

describe("check", () => {
  test("finds nothing on a right set-up, and changes nothing", async () => {
    const setUp = await rightSetUp();
    const before = await setUp.client.webhooks.list();
    expect(await codesOf(setUp)).toEqual([]);
    expect(await codesOf(setUp, { secret: undefined })).toEqual([]);
    expect(await setUp.client.webhooks.list()).toEqual(before);
    expect(setUp.handled).toEqual([]);
  });

  test("finds TLS that is not verified", async () => {
    const setUp = await rightSetUp();
    const [first] = await setUp.client.webhooks.list();
    await setUp.client.webhooks.update(first?.id ?? "", { skip_ssl_verification: true, secret });
    expect(await codesOf(setUp)).toEqual(["tls_not_verified new_alarm"]);
  });

  test("finds a webhook at another URL, a second one, and one of the wrong type", async () => {
    const setUp = await rightSetUp();
    const { client, register } = setUp;
    const old = await desk.receiver({ secret });
    const [alarms] = await client.webhooks.list();
    const second = await register(old.url, secret);
    expect(await codesOf(setUp)).toEqual(["second_webhook new_alarm"]);
    await client.webhooks.update(alarms?.id ?? "", { is_active: false, secret });
    expect(await codesOf(setUp)).toEqual(["inactive new_alarm", "other_url new_alarm"]);
    await client.webhooks.delete(alarms?.id ?? "");
    expect(await codesOf(setUp)).toEqual(["other_url new_alarm"]);
    await client.webhooks.delete(second.id);
    expect(await codesOf(setUp)).toEqual(["missing_webhook new_alarm"]);
    expect(await codesOf(setUp, { types: ALARMS })).toEqual([
      "missing_webhook new_alarm",
      "unexpected_type delete_my_data_event",
    ]);
  });

  test("finds a receiver that is down, has the old secret, accepts any, or is another program", async () => {
    const setUp = await rightSetUp();
    const both = (code: string) => [`${code} new_alarm`, `${code} delete_my_data_event`];
    const next = createWebhookSecret();
    expect(await codesOf(setUp, { secret: next })).toEqual(both("other_secret"));
    await setUp.close();
    expect(await codesOf(setUp)).toEqual(["receiver_unreachable"]);

    const { client } = setUp;
    const any = await desk.receiver(OPEN);
    const foreign = await desk.server(({ method }, res) =>
      res.writeHead(method === "GET" ? 404 : 200).end(),
    );
    const codesAt = (url: string) => codesOf({ client, url }, { types: ALARMS });
    expect(await codesAt(any.url)).toContain("accepts_any_secret");
    expect(await codesAt(foreign.url)).toEqual([
      "other_url new_alarm",
      "receiver_refuses_get",
      "receiver_unclear",
    ]);
    const { findings } = await checkWebhooks(client, { url: foreign.url, secret });
    const { fix, status } = findings.find(({ code }) => code === "receiver_unclear") ?? {};
    expect(status).toBe(200);
    // It runs handlers: docs/answers.md forbids it for the URL of a registered webhook.
    expect(fix).toContain("`doctor` only on a test deploy");
  });

  test("finds that webhooks are not enabled for the client", async () => {
    const { client } = await desk.gateway({ webhooksEnabled: false });
    const { url } = await desk.receiver({ secret });
    expect(await codesOf({ client, url })).toEqual(["webhooks_not_available"]);
    // A 404 may also come from a wrong address.
    const { findings } = await checkWebhooks(client, { url });
    expect(findings[0]?.fix).toContain("baseUrl");
  });

  test("rejects when what answers is not the gateway's API", async () => {
    const { client } = scriptedClient([{ status: 404, text: "<h1>Not Found</h1>" }]);
    const { url } = await desk.receiver({ secret });
    const error = await failure(checkWebhooks(client, { url }));
    expect(error).toMatchObject({ code: "unexpected_answer", status: 404 });
  });
});
