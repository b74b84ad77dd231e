import http, { type IncomingMessage, type RequestListener } from "node:http";
import express from "express";
import { Hono } from "hono";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { shadow, type ShadowOptions, type ShadowReport } from "../../adapters/shadow/shadow.js";
import { memoryStore } from "../../src/index.js";
import { alarm, delivery, NOW_MS, NOW_SECONDS, TEST_SECRET } from "../support/deliveries.js";
import { rejects } from "../support/faults.js";
import { listen } from "../support/servers.js";

const genuine = delivery;
const stale = () => delivery({ timestamp: NOW_SECONDS - 3_600 });
const forged = () => delivery({ secret: "whsec_another_0123456789" });
const unrecognized = () => delivery({ body: JSON.stringify({ alarm: { id: 1 } }) });
const unsigned = async () => {
  const { headers, ...rest } = await delivery();
  return { ...rest, headers: { ...headers, "x-webhook-signature": "" } };
};
type Sent = () => ReturnType<typeof delivery>;

/** A shadow at the tests' clock, with its reports. `done` waits until so many requests are dealt with. */
function watched(options: Partial<ShadowOptions> = {}) {
  const reports: ShadowReport[] = [];
  const compare = shadow({
    secret: TEST_SECRET,
    now: () => NOW_MS,
    report: (report) => reports.push(report),
    ...options,
  });
  const done = (requests = 1) =>
    vi.waitFor(() => {
      const { compared, notCompared } = compare.counts();
      expect(compared + notCompared).toBe(requests);
    });
  return { compare, reports, done, found: () => reports.map(({ difference }) => difference) };
}

/** A server of the old code behind a shadow, and a function that sends it a request. */
async function before(old: RequestListener, options: Partial<ShadowOptions> = {}) {
  const shadowed = watched(options);
  const server = http.createServer((request, response) => {
    shadowed.compare.node(request, response, () => old(request, response));
  });
  return { ...shadowed, send: await sender(server) };
}

async function sender(server: http.Server) {
  const { port, close } = await listen(server);
  onTestFinished(async () => {
    server.closeAllConnections();
    await close();
  });
  return async (request: Sent = genuine) => {
    const { method, headers, body } = await request();
    return fetch(`http://127.0.0.1:${port}/`, { method, headers, body, redirect: "manual" });
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks).toString();
}

/** Old code that reads the body and answers one status. */
const answering =
  (status: number): RequestListener =>
  (request, response) => {
    void textOf(request).then(() => response.writeHead(status).end());
  };

describe("what differs", () => {
  test.each<[string, Sent, number, string?]>([
    ["a genuine delivery that is taken", genuine, 204],
    ["a genuine delivery whose handler failed", genuine, 500],
    ["a genuine delivery that is in flight", genuine, 409],
    ["a genuine delivery that is refused for good", genuine, 401, "refused_genuine"],
    ["a record that is refused for good", genuine, 422, "refused_genuine"],
    ["a genuine delivery that is redirected", genuine, 302, "not_retryable"],
    ["a genuine delivery with a status of no one's document", genuine, 410, "not_retryable"],
    ["a late delivery that is taken", stale, 200, "accepted_stale"],
    ["a late delivery that is refused for good", stale, 401, "final_status"],
    ["a late delivery that is sent again", stale, 503],
    ["a forgery that is taken", forged, 200, "accepted_forgery"],
    ["a forgery that is refused for good", forged, 401, "final_refusal"],
    ["a forgery that is refused", forged, 409],
    ["an unsigned request that is taken", unsigned, 200, "accepted_forgery"],
    ["an unsigned request that is refused", unsigned, 401],
    ["a record that the library does not know", unrecognized, 200, "accepted_unrecognized"],
    ["a record that the old code does not know either", unrecognized, 500],
  ])("%s", async (_title, request, status, difference) => {
    const { compare, send, done, found } = await before(answering(status));
    await compare.fetch(await requestOf(() => delivery({ id: "verified" })), () => new Response());
    expect((await send(request)).status).toBe(status);
    await done(2);
    expect(found()).toEqual(difference === undefined ? [] : [difference]);
  });

  test("what is accepted before the secret has fitted once is no forgery, but a wrong secret", async () => {
    const { send, done, found, compare } = await before(answering(200), {
      secret: "whsec_wrong_0123456789",
    });
    await send();
    await done();
    expect(found()).toEqual(["wrong_secret"]);
    expect(compare.summary()).toMatch(/Safe to move: no, because no genuine .* wrong_secret: /);
  });

  test("a report has the id of an authentic request alone, and nothing of the body", async () => {
    const { send, done, reports } = await before(answering(401));
    await send();
    await send(forged);
    await done(2);
    expect(reports).toEqual([
      {
        id: "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
        type: "new_alarm",
        ours: { outcome: "handled", status: 200 },
        theirs: { status: 401 },
        difference: "refused_genuine",
        advice: expect.any(String) as string,
      },
      {
        ours: { outcome: "signature_mismatch", status: 409 },
        theirs: { status: 401 },
        difference: "final_refusal",
        advice: expect.any(String) as string,
      },
    ]);
    expect(JSON.stringify(reports)).not.toContain(alarm().text);
  });

  test("the counts and the summary say what was found, and whether to move", async () => {
    let nowMs = NOW_MS;
    const { compare, send, done } = await before(answering(200), { now: () => nowMs });
    for (let sent = 0; sent < 3; sent++) await send();
    await send(forged);
    await done(4);
    nowMs += 2.5 * 86_400_000;
    expect(compare.counts()).toEqual({
      ...{ since: new Date(NOW_MS), compared: 4, authentic: 3, notCompared: 0 },
      differences: { accepted_forgery: 1 },
    });
    expect(compare.summary()).toMatch(
      /^4 requests in 3 day\(s\): 3 alike, 1 × accepted_forgery, 0 not compared\. Safe to move: no, because accepted_forgery: /,
    );
  });

  test("after genuine deliveries alone it is safe to move", async () => {
    const { compare, send, done } = await before(answering(200));
    await send();
    await done();
    expect(compare.summary()).toMatch(/Safe to move: yes$/);
  });
});

describe("the old code gets what it got before", () => {
  const readers: readonly (readonly [string, (request: IncomingMessage) => Promise<string>])[] = [
    ["in a loop", textOf],
    [
      "by its length, without waiting for its end",
      (request) =>
        new Promise((resolve) => {
          let text = "";
          request.on("data", (chunk) => {
            text += String(chunk);
            if (text.length === Number(request.headers["content-length"])) resolve(text);
          });
        }),
    ],
    [
      "as text",
      async (request) => {
        request.setEncoding("utf8");
        let text = "";
        for await (const chunk of request) text += String(chunk);
        return text;
      },
    ],
    [
      "by events, after a while",
      async (request) => {
        await new Promise((resolve) => setImmediate(resolve));
        return new Promise((resolve) => {
          let text = "";
          request.on("data", (chunk) => (text += String(chunk)));
          request.on("end", () => resolve(text));
        });
      },
    ],
  ];
  test.each(readers)("when it reads the body %s", async (_title, read) => {
    const { compare, send, done, found } = await before((request, response) => {
      void read(request).then((text) => response.end(text));
    });
    const { body } = await delivery();
    // Two by one connection: the answer to the second may overtake the end of its request.
    for (const text of [body, body]) expect(await (await send()).text()).toBe(text);
    await done(2);
    expect([found(), compare.counts().compared]).toEqual([[], 2]);
  });

  test("behind Express, with a parser between", async () => {
    const { compare, done, found } = watched();
    const app = express();
    app.post("/", compare.node, express.json(), (request, response) => {
      response.status(401).json(request.body);
    });
    const send = await sender(http.createServer(app));
    expect(await (await send()).json()).toEqual({ alarm: alarm() });
    await done();
    expect(found()).toEqual(["refused_genuine"]);
  });

  test("behind a parser there is nothing to compare", async () => {
    const { compare, done } = watched();
    const app = express();
    app.post("/", express.json(), compare.node, (_request, response) => {
      response.sendStatus(200);
    });
    const send = await sender(http.createServer(app));
    expect((await send()).status).toBe(200);
    await done();
    expect(compare.counts()).toMatchObject({ compared: 0, notCompared: 1 });
  });

  test("a body over the limit is not compared", async () => {
    const { compare, send, done } = await before(answering(200), { maxBodyBytes: 100 });
    expect((await send()).status).toBe(200);
    await done();
    expect(compare.counts()).toMatchObject({ compared: 0, notCompared: 1 });
  });

  test("a GET is none of its business", async () => {
    const { compare, send } = await before(answering(200));
    const get = () => Promise.resolve({ method: "GET", headers: {}, body: undefined } as never);
    expect((await send(get)).status).toBe(200);
    expect(compare.counts()).toMatchObject({ compared: 0, notCompared: 0 });
  });

  test("a connection that the old code closes is not compared", async () => {
    const { compare, send, done } = await before((request) => request.destroy());
    await expect(send()).rejects.toThrow();
    await done();
    expect(compare.counts()).toMatchObject({ compared: 0, notCompared: 1 });
  });
});

describe("Fetch and Hono", () => {
  test("the old code reads the request, and its answer is given on", async () => {
    const { compare, done, found } = watched();
    const answer = new Response("no", { status: 401 });
    const request = await requestOf(genuine);
    const waiting: Promise<unknown>[] = [];
    const given = await compare.fetch(
      request,
      async () => {
        expect(await request.json()).toEqual({ alarm: alarm() });
        return answer;
      },
      { waitUntil: (work) => waiting.push(work) },
    );
    expect(given).toBe(answer);
    await Promise.all(waiting);
    expect(found()).toEqual(["refused_genuine"]);
    await done();
  });

  test("an error of the old code is thrown on, and not compared", async () => {
    const { compare, done } = watched();
    const failing = () => Promise.reject(new Error("theirs"));
    await expect(compare.fetch(await requestOf(genuine), failing)).rejects.toThrow("theirs");
    await done();
    expect(compare.counts()).toMatchObject({ compared: 0, notCompared: 1 });
  });

  test.each([
    ["that is declared too long", { "content-length": "1000" }],
    ["that is too long", {}],
  ])("a body %s is not compared", async (_title, headers) => {
    const { compare, done } = watched({ maxBodyBytes: 10 });
    const request = new Request(await requestOf(genuine), { headers });
    await compare.fetch(request, async () => new Response(await request.text()));
    await done();
    expect(compare.counts()).toMatchObject({ compared: 0, notCompared: 1 });
  });

  test("as a middleware of Hono", async () => {
    const { compare, done, found } = watched();
    const app = new Hono();
    app.use(async (context, next) => {
      await compare.fetch(context.req.raw, async () => {
        await next();
        return context.res;
      });
    });
    app.post("/", async (context) => context.json(await context.req.json(), 422));
    const answer = await app.request(await requestOf(genuine));
    expect([answer.status, await answer.json()]).toEqual([422, { alarm: alarm() }]);
    await done();
    expect(found()).toEqual(["refused_genuine"]);
  });
});

describe("observe", () => {
  const id = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";
  const OK = { id, ran: true };
  const FAILED = { id, ran: true, failed: true };
  const SKIPPED = { id, ran: false };
  // Each attempt: what is observed before the answer, its status, and what is observed after it.
  test.each([
    ["one run", [[[OK], 200, []]], []],
    ["one run that is told of after the answer", [[[], 200, [OK]]], []],
    ["a failure that is answered", [[[FAILED], 500, []]], []],
    [
      "a failure, and then a run",
      [
        [[FAILED], 500, []],
        [[OK], 200, []],
      ],
      [],
    ],
    ["a failure that is hidden", [[[FAILED], 200, []]], ["hidden_failure"]],
    ["a failure after the answer", [[[], 200, [FAILED]]], ["hidden_failure"]],
    [
      "a second run",
      [
        [[OK], 500, []],
        [[OK], 200, []],
      ],
      ["ran_again"],
    ],
    ["a delivery for which nothing ran", [[[SKIPPED], 200, []]], ["not_run"]],
    [
      "a duplicate",
      [
        [[OK], 200, []],
        [[SKIPPED], 200, []],
      ],
      [],
    ],
    [
      "nothing",
      [
        [[], 200, []],
        [[], 200, []],
      ],
      [],
    ],
  ] as const)("%s", async (_title, attempts, differences) => {
    const { compare, done, found } = watched();
    for (const [at, [first, status, then]] of attempts.entries()) {
      const answer = () => {
        first.forEach(compare.observe);
        return new Response(null, { status });
      };
      await compare.fetch(await requestOf(genuine), answer);
      await done(at + 1);
      then.forEach(compare.observe);
    }
    expect(found()).toEqual(differences);
  });
});

describe("it never harms", () => {
  const hanging = { claim: () => new Promise<never>(() => undefined) };
  test.each<[string, Partial<ShadowOptions>]>([
    ["a report that throws", { report: () => expect.fail("report") }],
    ["a report that rejects", { report: rejects }],
    ["a store that fails", { store: { ...memoryStore(), claim: rejects } }],
    ["a store that hangs", { store: { ...memoryStore(), ...hanging } }],
    ["a secret function that fails", { secret: rejects }],
    ["a clock that fails", { now: () => expect.fail("clock") }],
  ])("%s", async (_title, options) => {
    const { send } = await before(answering(401), options);
    expect((await send()).status).toBe(401);
    expect((await send(forged)).status).toBe(401);
  });

  test("an option that cannot work is refused", () => {
    expect(() => shadow({ secret: undefined })).toThrow("secret");
    expect(() => shadow({ secret: TEST_SECRET, report: 1 as never })).toThrow("report");
    expect(() => shadow({ secret: TEST_SECRET, reports: 1 } as never)).toThrow("reports");
  });
});

async function requestOf(make: Sent): Promise<Request> {
  const { method, headers, body } = await make();
  return new Request("http://127.0.0.1/", { method, headers, body });
}
