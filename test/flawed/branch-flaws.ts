import { isOnlineDataEventType } from "../../src/records/online-data-event.js";
import { ALARM_EVENT_TYPES } from "../../kit/samples/sample-alarm.js";
import {
  doingFirst,
  Meeting,
  overriding,
  recordOf,
  type Flaws,
  type MakeReceiver,
  type Receivers,
} from "./flaw.js";
import { textOf, type Fields, type Request } from "./right-receiver.js";

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
  "alarms of an event_type that it does not know": ({ event_type }) =>
    event_type !== undefined && !known.includes(event_type),
  "alarms with dates in ISO 8601": ({ created_at }) => String(created_at).endsWith("Z"),
  "alarms with a long payload": ({ payload }) => String(payload).length > 4_096,
  "events without a site": ({ site_id }) => site_id === null,
  "events of the type DATA_DELETED": ({ type }) => type === "DATA_DELETED",
  "events of the type PERSONAL_DATA_NOT_FOUND": ({ type }) => type === "PERSONAL_DATA_NOT_FOUND",
  "events of severity INFO": ({ severity }) => severity === "INFO",
  "events of a type that it does not know": ({ type }) =>
    type !== undefined && !isOnlineDataEventType(textOf(type)),
  "events beyond ASCII": ({ site_name }) => /[^ -~]/.test(textOf(site_name)),
  "bodies over 100 kB": (record) => JSON.stringify(record).length > 100_000,
} satisfies Readonly<Record<string, (record: Fields) => boolean>>;

type Branch = keyof typeof BRANCHES;

/** The same flaw in several branches. `does` ends before the name of the branch. */
function inBranches(
  does: string,
  make: (isIn: (request: Request) => boolean) => MakeReceiver,
  branches: readonly Branch[],
): Receivers {
  const rows = branches.map((branch): readonly [string, MakeReceiver] => {
    const isIn: (record: Fields) => boolean = BRANCHES[branch];
    return [`${does} ${branch}`, make((request) => isIn(recordOf(request)))];
  });
  return Object.fromEntries(rows);
}

/** Each does something wrong with some records alone. */
export const branchFlaws: Flaws = {
  failure_sent_again: {
    ...inBranches(
      "acknowledges a failure of",
      (isIn) =>
        overriding((right) => ({
          failed: (request, key) => (isIn(request) ? [200, "ok"] : right.failed(request, key)),
        })),
      [
        ...(["alarms of bureaus", "alarms about cards", "alarms of severity Medium"] as const),
        ...(["events without a site", "events of the type DATA_DELETED"] as const),
        ...(["events of a type that it does not know", "bodies over 100 kB"] as const),
      ],
    ),
    ...inBranches(
      "gives up a failure of",
      (isIn) =>
        overriding((right) => ({
          failed: (request, key) => (isIn(request) ? [422, "no"] : right.failed(request, key)),
        })),
      ["alarms of severity Info", "alarms with a long payload", "events of severity INFO"],
    ),
    ...inBranches(
      "answers before it handles",
      (isIn) =>
        overriding((right) => ({
          async run(request, key, record) {
            const handling = right.run(request, key, record);
            if (!isIn(request)) return handling;
            right.remember(key, request);
            return [202, "accepted"];
          },
        })),
      [
        ...(["alarms of BureauCreditB", "alarms of an event_type that it does not know"] as const),
        ...(["alarms about companies", "events of the type PERSONAL_DATA_NOT_FOUND"] as const),
        ...(["events of a type that it does not know", "bodies over 100 kB"] as const),
      ],
    ),
    ...inBranches(
      "remembers a failure as handled of",
      (isIn) =>
        doingFirst("failed", ({ handled }, request, key) => isIn(request) && handled.add(key)),
      ["alarms about domains", "alarms with dates in ISO 8601", "events beyond ASCII"],
    ),
  },
  late_handler_counts: {
    ...inBranches(
      "acknowledges a duplicate in flight of",
      (isIn) =>
        overriding((right) => ({
          inFlight: (request) => (isIn(request) ? [200, "busy"] : right.inFlight(request)),
        })),
      [
        ...(["alarms of bureaus", "alarms about domains", "alarms with a long payload"] as const),
        ...(["events without a site", "events of severity INFO", "bodies over 100 kB"] as const),
      ],
    ),
    ...inBranches(
      "gives the lock away at the time-out of",
      (isIn) =>
        overriding((right) => ({
          async handleOnce(request, record) {
            const answer = await right.handleOnce(request, record);
            if (answer[0] === 503 && isIn(request)) right.running.delete(request.id);
            return answer;
          },
        })),
      ["alarms of BureauCreditAEnquiry", "events of the type DATA_DELETED", "events beyond ASCII"],
    ),
  },
  late_failure_released: inBranches(
    "acknowledges at the time-out of its handler",
    (isIn) =>
      overriding((right) => ({
        async handleOnce(request, record) {
          const answer = await right.handleOnce(request, record);
          return answer[0] === 503 && isIn(request) ? [202, "later"] : answer;
        },
      })),
    ["alarms about companies", "events of the type PERSONAL_DATA_NOT_FOUND", "bodies over 100 kB"],
  ),
  duplicate_handled_once: inBranches(
    "remembers no ids of",
    (isIn) =>
      overriding((right) => ({
        remember(key, request) {
          if (!isIn(request)) right.remember(key, request);
        },
      })),
    [
      ...(["alarms of bureaus", "alarms of severity Info", "alarms about cards"] as const),
      ...(["alarms of an event_type that it does not know", "events without a site"] as const),
      ...(["events of the type DATA_DELETED", "bodies over 100 kB"] as const),
      ...(["events of a type that it does not know"] as const),
    ],
  ),
  concurrent_duplicates_handled_once: inBranches(
    "looks up and remembers in two steps the ids of",
    (isIn) =>
      overriding((right) => {
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
      }),
    [
      ...(["alarms of BureauCreditB", "alarms of severity Medium"] as const),
      ...(["events of severity INFO", "events beyond ASCII", "bodies over 100 kB"] as const),
    ],
  ),
  stale: inBranches(
    "takes old",
    (isIn) =>
      overriding((right) => ({ isFresh: (request) => isIn(request) || right.isFresh(request) })),
    [
      ...(["alarms of bureaus", "alarms about cards", "alarms with a long payload"] as const),
      ...(["alarms with dates in ISO 8601", "events without a site"] as const),
      ...(["events of the type PERSONAL_DATA_NOT_FOUND", "bodies over 100 kB"] as const),
    ],
  ),
};
