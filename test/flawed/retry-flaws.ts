import { isOnlineDataEventType } from "../../src/records/online-data-event.js";
import { isJson } from "../support/is-json.js";
import { hanging, overriding, type Flaws } from "./flaw.js";
import { isFields, type Answer, type Fields, type Request, textOf } from "./right-receiver.js";

/** Each does something wrong when a delivery fails for the n-th time, or is sent again after a 5xx. */
export const retryFlaws: Flaws = {
  ten_failures_sent_again: {
    "puts a delivery into a list of dead ones after three failures": failing(3, [200, "dead"]),
    "puts a delivery into a list of dead ones after five failures": failing(5, [200, "dead"]),
    "puts a delivery into a list of dead ones after nine failures": failing(9, [202, "dead"]),
    "puts an event into a list of dead ones after five failures": failing(
      5,
      [200, "dead"],
      ({ type }) => type !== "new_alarm",
    ),
    "answers 404 to a delivery after six failures": failing(6, [404, "poison"]),
    "answers 422 to a delivery after four failures": failing(4, [422, "poison"]),
    "answers 410 to a delivery after eight failures": failing(8, [410, "gone"]),
    "remembers a delivery as handled after ten failures": remembering(10),
    "remembers a delivery as handled after seven failures": remembering(7),
    "drops a delivery whose breaker has been opened by five failures": breaking(5, [200, "open"]),
    "drops a delivery whose breaker has been opened by fifteen failures": breaking(15, [202, "ok"]),
    "answers 400 while its breaker is open": breaking(12, [400, "open"]),
    "never handles a delivery that has failed five times": hanging(
      failing(5, [503, "poison"], () => true, true),
    ),
  },
  missing_fields: {
    "writes the text of an alarm into a log after its work": throwingAfter(
      (record) => "payload" in record && typeof record["text"] !== "string",
    ),
    "writes the length of a client_id into a log after its work": throwingAfter(
      (record) => "occurred_at" in record && typeof record["client_id"] !== "string",
    ),
    "writes the day of an alarm into a log after its work": throwingAfter(
      (record) => "payload" in record && typeof record["created_at"] !== "string",
    ),
    "counts severities after its work": throwingAfter(
      (record) => "account_id" in record && typeof record["severity"] !== "string",
    ),
  },
  legacy_values: {
    "writes the id of an alarm as a number after its work": throwingAfter(
      ({ id }) => typeof id === "string",
    ),
    "writes a client_id in lower case after its work": throwingAfter(
      ({ client_id }) => typeof client_id === "number",
    ),
  },
  odd_payload: {
    "parses the payload after its work": throwingAfter(
      ({ payload }) => payload !== undefined && !isJson(payload),
    ),
    "lists the keys of the payload after its work": throwingAfter(
      ({ payload }) => payload === "null",
    ),
    "remembers an alarm, and then parses its payload before its work": throwingBefore(
      ({ payload }) => payload !== undefined && !isJson(payload),
    ),
  },
  odd_values: {
    "writes an id into 32 bits after its work": throwingAfter(({ id }) => Number(id) >= 2 ** 31),
    "looks a status up after its work": throwingAfter(({ status }) => status === "SNOOZED"),
  },
  odd_members: {
    "writes a text with a NUL into a log after its work": throwingAfter(({ note }) =>
      String(note).includes("\0"),
    ),
    "copies each member after its work": throwingAfter(({ nested }) => nested !== undefined),
  },
  unknown_event_type: {
    "looks the name of an event up after its work": throwingAfter(
      ({ type }) => type !== undefined && !isOnlineDataEventType(textOf(type)),
    ),
    "remembers an event, and then does not find its handler": throwingBefore(
      ({ type }) => type === "SITE_CLOSED",
    ),
  },
  content_types: {
    "writes the content type into a log after its work": throwingAfter(
      (_record, { req }) => req.headers["content-type"] === undefined,
    ),
  },
  rare_values: {
    "writes the first letter of a text into a log after its work": throwingAfter(
      ({ text }) => text === "",
    ),
    "writes an event's hour into a log after its work": throwingAfter(({ occurred_at }) =>
      String(occurred_at).includes("-05:00"),
    ),
    "writes the name of a breach into a log after its work": throwingAfter(
      ({ payload }) => isJson(payload) && !isFields(JSON.parse(String(payload))),
    ),
    "writes the path of a site into a log after its work": throwingAfter(({ site_base_url }) =>
      String(site_base_url).includes("?"),
    ),
    "remembers an alarm, and then cannot write its long id": throwingBefore(
      ({ original_event_id }) => String(original_event_id).length > 100,
    ),
  },
};

/** Fails again and again, and answers something else after some failures of one delivery. */
function failing(
  failures: number,
  answer: Answer,
  isIn: (request: Request) => boolean = () => true,
  isSticky = false,
) {
  return overriding((right) => {
    const counts = new Map<string, number>();
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
function breaking(failures: number, answer: Answer) {
  return overriding((right) => {
    let inARow = 0;
    return {
      overlap: () => Promise.resolve(),
      handleOnce: async (request, record) =>
        inARow >= failures ? answer : right.handleOnce(request, record),
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

type Picks = (record: Fields, request: Request) => boolean;

/** Does its work, and then fails in a line that does not matter. */
function throwingAfter(isPicked: Picks) {
  return overriding((right) => ({
    overlap: () => Promise.resolve(),
    async handle(request, record) {
      await right.handle(request, record);
      if (isPicked(record, request)) throw new TypeError("undefined is not a function");
    },
  }));
}

/** Remembers the id first, and then fails before its work. */
function throwingBefore(isPicked: Picks) {
  return overriding((right) => ({
    overlap: () => Promise.resolve(),
    async handle(request, record) {
      if (isPicked(record, request)) {
        right.handled.add(request.id);
        throw new TypeError("undefined is not a function");
      }
      await right.handle(request, record);
    },
  }));
}
