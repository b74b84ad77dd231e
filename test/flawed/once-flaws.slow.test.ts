import { setTimeout as wait } from "node:timers/promises";
import { isOnlineDataEventType } from "../../src/records/online-data-event.js";
import { ALARM_EVENT_TYPES } from "../../kit/samples/sample-alarm.js";
import { convicts, inJavaScript } from "./convicts.js";
import {
  doingFirst,
  each,
  hanging,
  keyed,
  Meeting,
  named,
  overriding,
  replacing,
  rememberingLast,
  type Flaws,
  type MakeReceiver,
  type Receivers,
} from "./flaw.js";
import {
  textOf,
  type Answer,
  type Fields,
  type Refusal,
  type Request,
  type RightReceiver,
} from "./right-receiver.js";

const isEvent = ({ type }: Request): boolean => type !== "new_alarm";

/** Each handles a delivery twice, or loses it. */
const onceFlaws: Flaws = {
  duplicate_handled_once: {
    "remembers no ids": overriding((right) => ({
      handleOnce: (request, record) => right.run(request, request.id, record),
      remember: () => undefined,
    })),
    "remembers ids of alarms alone": forgetting(isEvent),
    ...each("remembers", keyed, {
      "8 characters of an id": ({ id }) => id.slice(0, 8),
      "32 characters of an id": ({ id }) => id.slice(0, 32),
      "ids in lower case": ({ id }) => id.toLowerCase(),
      "an id without its second part": ({ id }) => id.replace(/-\w+/, ""),
    }),
  },
  retry_with_new_signature: {
    ...each("remembers id and", keyedWith, {
      timestamp: ({ timestamp }) => timestamp,
      address: ({ req }) => req.headers["x-forwarded-for"],
      agent: ({ req }) => req.headers["user-agent"],
      "X-Request-Id": ({ req }) => req.headers["x-request-id"],
      "Idempotency-Key": ({ req }) => req.headers["idempotency-key"],
      host: ({ req }) => req.headers.host,
      cookie: ({ req }) => req.headers.cookie,
      "the path with its query": ({ req }) => req.url?.replace(/\/$/, ""),
      "the path without its query": ({ req }) => req.url?.split("?")[0],
      attempt: ({ req }) => req.headers["x-webhook-attempt"],
      "content type": ({ req }) => req.headers["content-type"],
      "the order of headers": ({ req }) => req.rawHeaders[0],
      "the spelling of its header": ({ req }) =>
        req.rawHeaders.find((name) => /webhook-id/i.test(name)),
      "port of the sender": ({ req }) => req.socket.remotePort,
      "length by its header": ({ req }) => req.headers["content-length"],
    }),
  },
  duplicate_by_id_alone: {
    "remembers id and body": keyed(({ id, body }) => `${id} ${String(body)}`),
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
    "forgets an id after fifty deliveries": rememberingLast(50),
    "forgets an id after a second": replacing("remember", ({ handled }, key) => {
      handled.add(key);
      setTimeout(() => handled.delete(key), 1_000).unref();
    }),
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
    ...each("answers", answeringEarly, {
      "before it handles": () => true,
      "events before it handles them": isEvent,
    }),
    "acknowledges failed deliveries": answeringFailure(200)(() => true),
    "answers 422 when the handler fails": answeringFailure(422)(() => true),
    ...each("remembers failed", rememberingFailures, {
      "deliveries as handled": () => true,
      "events as handled": isEvent,
    }),
    "keeps the lock of a failed delivery": hanging(
      doingFirst("failed", ({ running }, _request, key) => running.add(key)),
    ),
  },
  retries_at_once_after_failure: {
    "runs a failed event again without a lock": unlockedAfterFailure(isEvent),
  },
  forged_duplicate: {
    ...each("remembers ids of", whenRefused("add"), {
      "forged deliveries": "mismatch",
      "stale deliveries": "stale",
      "requests whose type differs": "another type",
    }),
    "remembers ids of unsigned requests": replacing("readHeaders", (right, req, body) => {
      const request = right.readHeaders(req, body);
      if (request === undefined) right.handled.add(String(req.headers["x-webhook-id"]));
      return request;
    }),
    "remembers ids of unreadable bodies": doingFirst("unreadable", ({ handled }, _error, { id }) =>
      handled.add(id),
    ),
    "remembers ids of unknown records": doingFirst("unknown", ({ handled }, { id }) =>
      handled.add(id),
    ),
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
  // Takes different deliveries for one.
  same_account: {
    ...each("remembers", keyedBy, {
      "accounts and types": ({ account_id, event_type, type }) => [account_id, event_type ?? type],
      "accounts, types and sites": ({ id, account_id, type, site_id }) => [
        id,
        account_id,
        type,
        site_id,
      ],
      "when a record was created": ({ created_at, occurred_at }) => [created_at ?? occurred_at],
    }),
    "drops an event that is older than another one of its account": overriding((right) => {
      const latest = new Map<unknown, number>();
      return {
        async handle(request, { account_id, occurred_at, ...record }) {
          const at = Date.parse(String(occurred_at));
          if (at < (latest.get(account_id) ?? 0)) return;
          latest.set(account_id, at);
          await right.handle(request, record);
        },
      };
    }),
    "drops a second alarm of an account while it handles one": overriding((right) => {
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
    }),
  },
  // Changes what it remembers on a request that it refuses.
  refusal_forgets_nothing: {
    ...each("forgets an id when", whenRefused("delete"), {
      "it refuses a forgery with it": "mismatch",
      "it refuses an old request with it": "stale",
      "the type of a request with it differs": "another type",
    }),
    "forgets an id of an unreadable body": doingFirst("unreadable", ({ handled }, _error, { id }) =>
      handled.delete(id),
    ),
    "forgets all ids on DELETE": doingFirst("receive", ({ handled }, { method }) => {
      if (method === "DELETE") handled.clear();
    }),
  },
  forged_known_id: {
    "answers an id that it knows before it verifies": replacing(
      "process",
      async (right, request) =>
        right.handled.has(request.id) ? right.duplicate(request) : right.process(request),
    ),
  },
  // Lets forgers shut the gateway out.
  ban_after_forgeries: {
    "bans an address after a hundred wrong signatures": banning(100, [403, "banned"]),
    "answers 409 to an address after a hundred wrong signatures": banning(100, [409, "banned"]),
  },
  ten_failures_sent_again: {
    "forgets all ids when a handler fails": replacing("failed", (right, request, key) => {
      right.handled.clear();
      return right.failed(request, key);
    }),
    "buries a delivery after nine failures": failing(9, 202),
    "buries an event after five failures": failing(5, 200, isEvent),
    "answers 404 to a delivery after six failures": failing(6, 404),
    "answers 422 to a delivery after four failures": failing(4, 422),
    "answers 410 to a delivery after eight failures": failing(8, 410),
    "remembers a delivery as handled after ten failures": remembering(10),
    "drops a delivery when fifteen failures open its breaker": breaking(15, 202),
    "answers 400 while its breaker is open": breaking(12, 400),
    "never handles what has failed five times": hanging(failing(5, 503, () => true, true)),
  },
};

const known: readonly unknown[] = ALARM_EVENT_TYPES;

/** Records that a receiver handles in a branch of its own. */
const BRANCHES = {
  "alarms of bureaus": ({ source }) => String(source).startsWith("Bureau"),
  "alarms of BureauCreditAEnquiry": ({ source }) => source === "BureauCreditAEnquiry",
  "alarms of BureauCreditB": ({ source }) => source === "BureauCreditB",
  "alarms about cards": ({ event_type }) => event_type === "credit_card_hacked",
  "alarms about domains": ({ event_type }) => event_type === "domain_hacked",
  "alarms of severity Medium": ({ severity }) => severity === "Medium",
  "alarms of severity Info": ({ severity }) => severity === "Info",
  "alarms about companies": ({ category_id }) => category_id === 5,
  "alarms of a new event_type": ({ event_type }) =>
    event_type !== undefined && !known.includes(event_type),
  "alarms with dates in ISO 8601": ({ created_at }) => String(created_at).endsWith("Z"),
  "alarms with a long payload": ({ payload }) => String(payload).length > 4_096,
  "events without a site": ({ site_id }) => site_id === null,
  "events DATA_DELETED": ({ type }) => type === "DATA_DELETED",
  "events PERSONAL_DATA_NOT_FOUND": ({ type }) => type === "PERSONAL_DATA_NOT_FOUND",
  "events of severity INFO": ({ severity }) => severity === "INFO",
  "events of a new type": ({ type }) => type !== undefined && !isOnlineDataEventType(textOf(type)),
  "events beyond ASCII": ({ site_name }) => /[^ -~]/.test(textOf(site_name)),
  "bodies over 100 kB": (record) => JSON.stringify(record).length > 100_000,
} satisfies Readonly<Record<string, (record: Fields) => boolean>>;

type Branch = keyof typeof BRANCHES;
type IsIn = (request: Request) => boolean;

/** The same flaw in several branches. `does` ends before the name of the branch. */
function inBranches(
  does: string,
  make: (isIn: IsIn) => MakeReceiver,
  ...branches: readonly Branch[]
): Receivers {
  const ofBranch = (branch: Branch) => {
    const isIn: (record: Fields) => boolean = BRANCHES[branch];
    return make((request) => isIn(recordOf(request)));
  };
  return each(does, ofBranch, named(...branches));
}

/** Each does something wrong with some records alone. */
const branchFlaws: Flaws = {
  failure_sent_again: {
    ...inBranches(
      "acknowledges a failure of",
      answeringFailure(200),
      "alarms of bureaus",
      "alarms about cards",
      "alarms of severity Medium",
      "events without a site",
      "events DATA_DELETED",
      "events of a new type",
      "bodies over 100 kB",
    ),
    ...inBranches(
      "gives up a failure of",
      answeringFailure(422),
      "alarms of severity Info",
      "alarms with a long payload",
      "events of severity INFO",
    ),
    ...inBranches(
      "answers before it handles",
      answeringEarly,
      "alarms of BureauCreditB",
      "alarms of a new event_type",
      "alarms about companies",
      "events PERSONAL_DATA_NOT_FOUND",
      "events of a new type",
      "bodies over 100 kB",
    ),
    ...inBranches(
      "remembers a failure as handled of",
      rememberingFailures,
      "alarms about domains",
      "alarms with dates in ISO 8601",
      "events beyond ASCII",
    ),
  },
  late_handler_counts: {
    ...inBranches(
      "acknowledges a duplicate in flight of",
      (isIn) =>
        replacing("inFlight", (right, request) =>
          isIn(request) ? [200, "busy"] : right.inFlight(request),
        ),
      "alarms of bureaus",
      "alarms about domains",
      "alarms with a long payload",
      "events without a site",
      "events of severity INFO",
      "bodies over 100 kB",
    ),
    ...inBranches(
      "gives the lock away at the time-out of",
      atTimeOut((right, { id }) => {
        right.running.delete(id);
        return undefined;
      }),
      "alarms of BureauCreditAEnquiry",
      "events DATA_DELETED",
      "events beyond ASCII",
    ),
  },
  late_failure_released: inBranches(
    "acknowledges at the time-out of its handler",
    atTimeOut(() => [202, "later"]),
    "alarms about companies",
    "events PERSONAL_DATA_NOT_FOUND",
    "bodies over 100 kB",
  ),
  duplicate_handled_once: inBranches(
    "remembers no ids of",
    forgetting,
    "alarms of bureaus",
    "alarms of severity Info",
    "alarms about cards",
    "alarms of a new event_type",
    "events without a site",
    "events DATA_DELETED",
    "bodies over 100 kB",
    "events of a new type",
  ),
  concurrent_duplicates_handled_once: inBranches(
    "looks up and remembers in two steps the ids of",
    inTwoSteps,
    "alarms of BureauCreditB",
    "alarms of severity Medium",
    "events of severity INFO",
    "events beyond ASCII",
    "bodies over 100 kB",
  ),
  stale: inBranches(
    "takes old",
    (isIn) => replacing("isFresh", (right, request) => isIn(request) || right.isFresh(request)),
    "alarms of bureaus",
    "alarms about cards",
    "alarms with a long payload",
    "alarms with dates in ISO 8601",
    "events without a site",
    "events PERSONAL_DATA_NOT_FOUND",
    "bodies over 100 kB",
  ),
};

convicts("JavaScript", inJavaScript, onceFlaws, branchFlaws);

/** The record of a request, also before it is parsed. Empty when it cannot be read. */
function recordOf({ body }: Request): Fields {
  try {
    const { alarm, event } = JSON.parse(String(body).replace(/^\uFEFF/, "")) as Fields;
    return Object(alarm ?? event) as Fields;
  } catch {
    return {};
  }
}

function keyedBy(partsOf: (record: Fields) => readonly unknown[]) {
  return keyed((request) => JSON.stringify(partsOf(recordOf(request))));
}

/** Remembers an id together with something else. */
function keyedWith(partOf: (request: Request) => unknown) {
  return keyed((request) => `${request.id} ${String(partOf(request))}`);
}

/** Remembers no ids of some deliveries. */
function forgetting(isIn: IsIn) {
  return replacing("remember", (right, key, request) => {
    if (!isIn(request)) right.remember(key, request);
  });
}

/** Lets another delivery in between the look-up of an id and its handling. */
function inTwoSteps(isIn: IsIn) {
  return overriding((right) => {
    const meetings = new Map<string, Meeting>();
    return {
      async handleOnce(request, record) {
        const { id } = request;
        if (!isIn(request)) return right.handleOnce(request, record);
        if (right.handled.has(id)) return right.duplicate(request);
        const meeting = meetings.get(id) ?? new Meeting();
        meetings.set(id, meeting);
        await meeting.wait();
        return right.run(request, id, record);
      },
    };
  });
}

/** Acknowledges some deliveries, then handles them, whatever comes of it. */
function answeringEarly(isIn: IsIn) {
  return replacing("run", async (right, request, key, record) => {
    const handling = right.run(request, key, record);
    if (!isIn(request)) return handling;
    right.remember(key, request);
    return [202, "accepted"];
  });
}

/** Answers this when the handler of some deliveries fails. */
function answeringFailure(status: number) {
  return (isIn: IsIn) =>
    replacing("failed", (right, request, key) =>
      isIn(request) ? [status, "failed"] : right.failed(request, key),
    );
}

function rememberingFailures(isIn: IsIn) {
  return doingFirst("failed", ({ handled }, request, key) => isIn(request) && handled.add(key));
}

/** Does something, or answers something else, at the time-out of some handlers. */
function atTimeOut(act: (right: RightReceiver, request: Request) => Answer | undefined) {
  return (isIn: IsIn) =>
    replacing("handleOnce", async (right, request, record) => {
      const answer = await right.handleOnce(request, record);
      return (answer[0] === 503 && isIn(request) ? act(right, request) : undefined) ?? answer;
    });
}

/** Remembers or forgets the ids that it refuses for one reason. */
function whenRefused(act: "add" | "delete") {
  return (refused: Refusal) =>
    doingFirst("refuse", ({ handled }, reason, request) => {
      if (request !== undefined && reason === refused) handled[act](request.id);
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

/** Two retries of a failed delivery can pass between the look-up and the write. */
function unlockedAfterFailure(isUnlocked: IsIn) {
  return overriding((right) => {
    const failed = new Set<string>();
    const meeting = new Meeting();
    return {
      failed(request, key) {
        failed.add(request.id);
        return right.failed(request, key);
      },
      async handleOnce(request, record) {
        const { id } = request;
        if (!failed.has(id) || right.handled.has(id) || !isUnlocked(request))
          return right.handleOnce(request, record);
        await meeting.wait();
        return right.run(request, id, record);
      },
    };
  });
}

/** Fails again and again, and answers something else after some failures of one delivery. */
function failing(failures: number, status: number, isIn: IsIn = () => true, isSticky = false) {
  return overriding((right) => {
    const counts = new Map<string, number>();
    const answer: Answer = [status, "dead"];
    return {
      overlap: () => Promise.resolve(),
      async handleOnce(request, record) {
        const isOver = (counts.get(request.id) ?? 0) >= failures && isIn(request);
        return isOver && isSticky ? answer : right.handleOnce(request, record);
      },
      failed(request, key) {
        const count = (counts.get(key) ?? 0) + 1;
        counts.set(key, count);
        return count > failures && isIn(request) ? answer : right.failed(request, key);
      },
    };
  });
}

function remembering(failures: number) {
  return overriding((right) => {
    const counts = new Map<string, number>();
    return {
      overlap: () => Promise.resolve(),
      failed(request, key) {
        counts.set(key, (counts.get(key) ?? 0) + 1);
        if (counts.get(key) === failures) right.handled.add(key);
        return right.failed(request, key);
      },
    };
  });
}

/** Stops calling its handler after some failures in a row, of whatever deliveries. */
function breaking(failures: number, status: number) {
  return overriding((right) => {
    let inARow = 0;
    return {
      overlap: () => Promise.resolve(),
      handleOnce: async (request, record) =>
        inARow >= failures ? [status, "open"] : right.handleOnce(request, record),
      failed(request, key) {
        inARow += 1;
        return right.failed(request, key);
      },
      done(request) {
        inARow = 0;
        return right.done(request);
      },
    };
  });
}
