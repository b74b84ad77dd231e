import { setTimeout as wait } from "node:timers/promises";
import { doingFirst, keyed, overriding, recordOf, type Flaws } from "./flaw.js";
import type { Answer, Fields, Refusal } from "./right-receiver.js";

/** Each remembers something else than the ids of handled deliveries. */
export const memoryFlaws: Flaws = {
  // Takes different deliveries for one.
  same_account: {
    "remembers accounts": keyedBy(({ account_id }) => [account_id]),
    "remembers accounts and types": keyedBy(({ account_id, event_type, type }) => [
      account_id,
      event_type ?? type,
    ]),
    "remembers accounts, types and sites": keyedBy(({ id, account_id, type, site_id }) => [
      id,
      account_id,
      type,
      site_id,
    ]),
    "remembers when a record was created": keyedBy(({ created_at, occurred_at }) => [
      created_at ?? occurred_at,
    ]),
    "acknowledges and drops a second alarm while it handles one of the same account": overriding(
      (right) => {
        const busyWith = new Map<unknown, string>();
        return {
          async handleOnce(request, record) {
            const { account_id } = record;
            const other = busyWith.get(account_id) ?? request.id;
            if (other !== request.id) return [200, "busy with this account"];
            busyWith.set(account_id, request.id);
            try {
              await wait(30);
              return await right.handleOnce(request, record);
            } finally {
              busyWith.delete(account_id);
            }
          },
        };
      },
    ),
  },
  // Changes what it remembers on a request that it refuses.
  refusal_forgets_nothing: {
    "forgets an id when it refuses a forgery with it": forgettingRefused("mismatch"),
    "forgets an id when it refuses an old request with it": forgettingRefused("stale"),
    "forgets an id when the type of a request with it differs": forgettingRefused("another type"),
    "forgets an id when it cannot read a body with it": doingFirst(
      "unreadable",
      ({ handled }, _error, { id }) => handled.delete(id),
    ),
  },
  forged_duplicate: {
    "remembers ids of unsigned requests": overriding((right) => ({
      readHeaders(req, body) {
        const request = right.readHeaders(req, body);
        if (request === undefined) right.handled.add(String(req.headers["x-webhook-id"]));
        return request;
      },
    })),
    "remembers ids of bodies that it cannot read": doingFirst(
      "unreadable",
      ({ handled }, _error, { id }) => handled.add(id),
    ),
    "remembers ids of records that it does not know": doingFirst("unknown", ({ handled }, { id }) =>
      handled.add(id),
    ),
  },
  // Lets forgers shut the gateway out.
  ban_after_forgeries: {
    "bans an address after a hundred wrong signatures": banning(100, [403, "banned"]),
    "answers 409 to an address after a hundred wrong signatures": banning(100, [409, "banned"]),
  },
};

function keyedBy(partsOf: (record: Fields) => readonly unknown[]) {
  return keyed((request) => JSON.stringify(partsOf(recordOf(request))));
}

function forgettingRefused(forgotten: Refusal) {
  return doingFirst("refuse", ({ handled }, reason, request) => {
    if (reason === forgotten && request !== undefined) handled.delete(request.id);
  });
}

function banning(limit: number, answer: Answer) {
  return overriding((right) => {
    let forgeries = 0;
    return {
      refuse(reason, request) {
        if (reason === "mismatch") forgeries += 1;
        return right.refuse(reason, request);
      },
      process: async (request) => (forgeries >= limit ? answer : right.process(request)),
    };
  });
}
