import { createHash } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { isJson } from "../support/is-json.js";
import {
  doingFirst,
  keyed,
  overriding,
  parsingLoosely,
  rememberingLast,
  withGrammar,
  type Receivers,
} from "./flaw.js";
import type { Answer, Fields, Request } from "./right-receiver.js";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Receivers that do something unusual and harmless. */
export const VARIANTS: Receivers = {
  "answers 204": answering([204, ""]),
  "answers 202": answering([202, "accepted"]),
  "answers 201 with a location": answering([201, "", { location: "/alarms/1" }]),
  "answers HTML": answering([200, "<p>ok</p>", { "content-type": "text/html" }]),
  "answers ok as HTML": answering([200, "ok", { "content-type": "text/html" }]),
  "answers duplicates with a page too, as it does plain deliveries": overriding({
    done: () => [200, "<p>new</p>", { "content-type": "text/html" }],
    duplicate: () => [200, "<p>known</p>", { "content-type": "text/html" }],
  }),
  "names an outcome of its own, and none of a duplicate": overriding({
    done: () => [200, '{"outcome":"stored"}', { "content-type": "application/json" }],
    duplicate: () => [204, ""],
  }),
  "answers 500 to text that its database refuses": refusingRecords(
    ({ text, site_name }) => /[\0\p{Surrogate}]/u.test(`${String(text)}${String(site_name)}`),
    500,
  ),
  "sets a cookie": answering([200, "ok", { "set-cookie": "session=1" }]),
  "accepts only UUIDs as ids": withGrammar({ id: UUID }),
  "answers 409 to upper-case hexadecimal": withGrammar({ signature: /^v1=[0-9a-f]{64}$/ }),
  "answers 409 to a type that it does not know": overriding({ unknown: () => [409, "unknown"] }),
  "answers 500 to a record that it does not know": overriding({ unknown: () => [500, "unknown"] }),
  "answers 500 to a body that it cannot read": overriding({ unreadable: () => [500, "no JSON"] }),
  "answers 409 to a body that it cannot read": overriding({ unreadable: () => [409, "no JSON"] }),
  "answers 408 to an old timestamp": overriding((right) => ({
    refuse: (reason) => (reason === "stale" ? [408, reason] : right.refuse(reason)),
  })),
  "tolerates two minutes": tolerating(120),
  "tolerates half an hour": tolerating(1_800),
  "stores hashes of ids": keyed(({ id }) => createHash("sha256").update(id).digest("base64")),
  "stores ids with their type": keyed(({ id, type }) => `${type}/${id}`),
  "stores UUIDs in upper case": keyed(({ id }) => (UUID.test(id) ? id.toUpperCase() : id)),
  "has several secrets": overriding((right) => ({
    secrets: (request) => [
      "whsec_old_0123456789abcdef",
      ...right.secrets(request),
      "whsec_next_0123456789abc",
    ],
  })),
  "answers 409 to numbers as text": refusingRecords(
    ({ id, account_id }) => typeof (id ?? account_id) === "string",
    409,
  ),
  "answers 503 to a record without a field": refusingRecords(
    (record) =>
      Object.values(record).some((value) => value === null || value === undefined) &&
      "text" in record,
    503,
  ),
  "answers 503 to a payload that is no JSON": refusingRecords(
    ({ payload }) => payload !== undefined && !isJson(payload),
    503,
  ),
  "answers 409 to a payload that is no object, and to odd members": overriding({
    check: (_record, { body }) =>
      /__proto__|\[\[\[|\\u0000b|\\ud83d|\d{25}/.test(String(body)) ? [409, "odd"] : undefined,
  }),
  "answers GET with a page": overriding((right) => ({
    receive: (req, body) =>
      req.method === "GET" && !right.hasDeliveryMark(req)
        ? [200, "<h1>alive</h1>"]
        : right.receive(req, body),
  })),
  "answers 404 to other methods": onMethods(
    ["GET", "HEAD", "PUT", "PATCH", "DELETE"],
    [404, "none"],
  ),
  "answers requests without a host with the page of another site": overriding((right) => ({
    receive: (req, body) =>
      req.headers.host === undefined ? [200, "<h1>welcome</h1>"] : right.receive(req, body),
  })),
  "closes each connection": doingFirst("serve", (_right, _req, res) =>
    res.setHeader("connection", "close"),
  ),
  "closes the connection without an answer at the limit of a body": overriding((right) => ({
    async readBody(req) {
      const body = await right.readBody(req);
      if (body === undefined) throw new Error("too large");
      return body;
    },
  })),
  "handles one delivery at a time, and answers 503 to the others": overriding((right) => {
    let isBusy = false;
    return {
      async handleOnce(request, record) {
        if (isBusy) return [503, "busy", { "retry-after": "0" }];
        isBusy = true;
        try {
          await wait(2);
          return await right.handleOnce(request, record);
        } finally {
          isBusy = false;
        }
      },
    };
  }),
  "handles deliveries one after another": overriding((right) => {
    let last: Promise<unknown> = Promise.resolve();
    return {
      handle(request, record) {
        const handling = last.then(() => right.handle(request, record));
        last = handling.catch(() => undefined);
        return handling;
      },
    };
  }),
  "takes a while for each delivery": overriding((right) => ({
    async handle(request, record) {
      await wait(5);
      await right.handle(request, record);
    },
  })),
  "lets duplicates wait for the first one": overriding((right) => {
    const runs = new Map<string, Promise<Answer>>();
    return {
      handleOnce(request, record) {
        const { id } = request;
        const first = runs.get(id) ?? right.handleOnce(request, record);
        runs.set(id, first);
        return first.finally(() => runs.delete(id));
      },
    };
  }),
  "accepts invalid bytes in headers and refuses them itself": parsingLoosely((value) => value),
  "ends an id at a NUL, as PHP and C do": parsingLoosely((value) => value.replace(/\0.*/s, "")),
  "reads a form or another type itself and so refuses it": overriding((right) => ({
    isSigned(request) {
      const type = String(request.req.headers["content-type"]);
      return !/form|;;;/.test(type) && right.isSigned(request);
    },
  })),
  "forgets ids after a thousand deliveries": rememberingLast(1_000),
  "answers 429 to whatever it refuses": overriding({ refuse: () => [429, "refused"] }),
};

/** Right receivers of which a run cannot see everything, with the cases that it leaves open or that advise only. */
export const RELUCTANT: Receivers = {
  "puts each delivery into a queue, whose worker tries again": overriding((right) => {
    const queued = new Set<string>();
    const work = async (request: Request, record: Fields): Promise<void> => {
      try {
        await right.handle(request, record);
      } catch {
        await wait(20, undefined, { ref: false });
        await work(request, record);
      }
    };
    return {
      handleOnce(request, record) {
        const { id } = request;
        if (!queued.has(id)) void work(request, record);
        queued.add(id);
        return Promise.resolve([202, "queued"]);
      },
    };
  }),
  "answers 415 to other content types": overriding((right) => ({
    receive: (req, body) =>
      /^application\/json\b/i.test(String(req.headers["content-type"]))
        ? right.receive(req, body)
        : [415, "JSON only"],
  })),
};

function answering(answer: Answer) {
  return overriding({ done: () => answer, duplicate: () => answer });
}

function tolerating(seconds: number) {
  return overriding({
    isFresh: ({ timestamp }) => Math.abs(Date.now() / 1_000 - Number(timestamp)) <= seconds,
  });
}

function refusingRecords(isRefused: (record: Fields) => boolean, status: number) {
  return overriding({ check: (record) => (isRefused(record) ? [status, "later"] : undefined) });
}

function onMethods(methods: readonly string[], answer: Answer) {
  return overriding((right) => ({
    receive: (req, body) =>
      methods.includes(String(req.method)) ? answer : right.receive(req, body),
  }));
}
