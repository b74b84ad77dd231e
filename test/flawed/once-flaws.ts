import { createHash } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import {
  doingFirst,
  hanging,
  keyed,
  Meeting,
  overriding,
  rememberingLast,
  type Flaws,
} from "./flaw.js";
import type { Refusal, Request } from "./right-receiver.js";

const hash = (...parts: readonly (string | Buffer)[]): string =>
  createHash("sha256")
    .update(Buffer.concat(parts.map((part) => Buffer.from(part))))
    .digest("hex");

/** Each handles a delivery twice, or loses it. */
export const onceFlaws: Flaws = {
  duplicate_handled_once: {
    "remembers no ids": overriding((right) => ({
      handleOnce: (request, record) => right.run(request, request.id, record),
      remember: () => undefined,
    })),
    "remembers ids of alarms alone": overriding((right) => ({
      remember(key, request) {
        if (request.type === "new_alarm") right.remember(key, request);
      },
    })),
    "remembers 8 characters of an id": keyed(({ id }) => id.slice(0, 8)),
    "remembers 32 characters of an id": keyed(({ id }) => id.slice(0, 32)),
    "remembers ids in lower case": keyed(({ id }) => id.toLowerCase()),
    "remembers the digits of an id": keyed(({ id }) => id.replace(/\D/g, "").slice(0, 9)),
  },
  retry_with_new_signature: {
    "remembers id and timestamp": keyed(({ id, timestamp }) => `${id} ${timestamp}`),
    "remembers signatures": keyed(({ signature }) => signature),
  },
  duplicate_by_id_alone: {
    "remembers hashes of bodies": keyed(({ body }) => hash(body)),
    "remembers id and body": keyed(({ id, body }) => hash(id, body)),
    "answers 422 to a body that it knows": overriding(() => {
      const ids = new Map<string, string>();
      return {
        check(_record, { id, body }) {
          const first = ids.get(String(body)) ?? id;
          ids.set(String(body), first);
          return first === id ? undefined : [422, "duplicate record"];
        },
      };
    }),
  },
  duplicate_acknowledged: {
    "answers 409 to a duplicate": hanging(overriding({ duplicate: () => [409, "duplicate"] })),
    "answers 400 to a duplicate": overriding({ duplicate: () => [400, "duplicate"] }),
  },
  duplicate_after_others: {
    "forgets an id after ten deliveries": rememberingLast(10),
    "forgets an id after fifty deliveries": rememberingLast(50),
    "forgets all ids when it has forty of them": overriding(({ handled }) => ({
      remember(key) {
        if (handled.size >= 40) handled.clear();
        handled.add(key);
      },
    })),
    "forgets an id after a second": overriding(({ handled }) => ({
      remember(key) {
        handled.add(key);
        setTimeout(() => handled.delete(key), 1_000).unref();
      },
    })),
  },
  concurrent_duplicates_handled_once: {
    "checks and remembers an id in two steps": inTwoSteps(() => true),
    "checks and remembers the id of an event in two steps": inTwoSteps(
      ({ type }) => type !== "new_alarm",
    ),
  },
  concurrent_duplicates: {
    "answers 404 to a duplicate in flight": overriding((right) => ({
      async handle(request, record) {
        await wait(100);
        await right.handle(request, record);
      },
      inFlight: () => [404, "in flight"],
    })),
  },
  failure_sent_again: {
    "acknowledges a duplicate in flight": overriding({ inFlight: () => [200, "in flight"] }),
    "answers before it handles": answeringFirst(() => true),
    "answers events before it handles them": answeringFirst(({ type }) => type !== "new_alarm"),
    "acknowledges failed deliveries": overriding({ failed: () => [200, "failed"] }),
    "answers 422 when the handler fails": overriding({ failed: () => [422, "failed"] }),
    "acknowledges failed events": overriding({
      failed: ({ type }) => [type === "new_alarm" ? 500 : 200, "failed"],
    }),
    "remembers failed deliveries as handled": doingFirst("failed", ({ handled }, _request, key) =>
      handled.add(key),
    ),
    "remembers failed events as handled": doingFirst("failed", ({ handled }, { type }, key) => {
      if (type !== "new_alarm") handled.add(key);
    }),
    "remembers an id before it handles the delivery": overriding((right) => ({
      run(request, key, record) {
        right.remember(key, request);
        return right.run(request, key, record);
      },
    })),
    "keeps the lock of a failed delivery": hanging(
      doingFirst("failed", ({ running }, _request, key) => running.add(key)),
    ),
  },
  late_handler_counts: {
    "answers 409 forever after a late handler": hanging(
      overriding((right) => {
        const late = new Set<string>();
        return {
          remember(key, request) {
            if (late.has(key)) setImmediate(() => right.running.add(key));
            else right.remember(key, request);
          },
          async answerLate(key) {
            const answer = await right.answerLate(key);
            late.add(key);
            return answer;
          },
        };
      }),
    ),
    "forgets late handlers": overriding((right) => {
      const late = new Set<string>();
      return {
        remember(key, request) {
          if (!late.has(key)) right.remember(key, request);
        },
        async answerLate(key) {
          const answer = await right.answerLate(key);
          if (right.running.has(key)) late.add(key);
          return answer;
        },
      };
    }),
    "gives the lock of a late handler away": overriding((right) => ({
      async answerLate(key) {
        const answer = await right.answerLate(key);
        right.running.delete(key);
        return answer;
      },
      remember(key, request) {
        if (right.running.has(key)) right.remember(key, request);
      },
    })),
    "answers 400 to a late handler": overriding((right) => ({
      async answerLate(key) {
        await right.answerLate(key);
        return [400, "late"];
      },
    })),
  },
  forged_duplicate: {
    "remembers ids of forged deliveries": rememberingRefused("mismatch"),
    "remembers ids of stale deliveries": rememberingRefused("stale"),
    "remembers ids of requests whose type differs": rememberingRefused("another type"),
    "answers 404 to an id that it has refused": overriding((right) => {
      const refused = new Set<string>();
      return {
        refuse(reason, request) {
          if (request !== undefined) refused.add(request.id);
          return right.refuse(reason, request);
        },
        process: async (request) =>
          refused.has(request.id) ? [404, "refused"] : right.process(request),
      };
    }),
  },
};

/** Lets another delivery in between the look-up of an id and its handling. */
function inTwoSteps(isTwoSteps: (request: Request) => boolean) {
  return overriding((right) => {
    const meeting = new Meeting();
    return {
      async handleOnce(request, record) {
        if (!isTwoSteps(request)) return right.handleOnce(request, record);
        if (right.handled.has(request.id)) return right.duplicate(request);
        await meeting.wait();
        return right.run(request, request.id, record);
      },
    };
  });
}

/** Acknowledges some deliveries, then handles them, whatever comes of it. */
function answeringFirst(isFirst: (request: Request) => boolean) {
  return overriding((right) => ({
    async run(request, key, record) {
      const handling = right.run(request, key, record);
      if (!isFirst(request)) return handling;
      right.remember(key, request);
      return [202, "accepted"];
    },
  }));
}

function rememberingRefused(remembered: Refusal) {
  return doingFirst("refuse", ({ handled }, reason, request) => {
    if (request !== undefined && reason === remembered) handled.add(request.id);
  });
}
