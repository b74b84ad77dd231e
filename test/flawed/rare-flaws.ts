import { isJson } from "../support/is-json.js";
import { overriding, type Flaws } from "./flaw.js";
import { isFields, type Answer, type Fields, textOf } from "./right-receiver.js";

const payloadOf = ({ payload }: Fields): unknown =>
  isJson(payload) ? JSON.parse(String(payload)) : undefined;
const isAlarm = (record: Fields): boolean => "payload" in record;
const isEvent = (record: Fields): boolean => "occurred_at" in record;
const timeOf = (value: unknown): number => Date.parse(`${textOf(value).replace(" ", "T")}Z`);

/** Each gives up, drops or never takes values that the gateway's document allows. */
export const rareFlaws: Flaws = {
  rare_values: {
    // Gives up.
    "answers 422 to an empty text": giving(422, ({ text }) => text === ""),
    "answers 400 to newlines in a text": giving(400, ({ text }) => textOf(text).includes("\n")),
    "answers 422 to a text over 1 000 characters": giving(422, ({ text }) => {
      return textOf(text).length > 1_000 && textOf(text).length < 10_000;
    }),
    "answers 422 to a creation in the future": giving(
      422,
      ({ created_at }) => timeOf(created_at) > Date.now() + 60_000,
    ),
    "answers 422 to a date before 2020": giving(422, ({ date }) => textOf(date) < "2020" && !!date),
    "answers 400 to an offset west of UTC": giving(400, ({ occurred_at }) =>
      /-\d\d:\d\d$/.test(textOf(occurred_at)),
    ),
    "answers 422 to a fraction of a second": giving(422, ({ occurred_at }) =>
      textOf(occurred_at).includes("."),
    ),
    "answers 422 to microseconds": giving(422, ({ occurred_at }) =>
      /\.\d{6}/.test(textOf(occurred_at)),
    ),
    "answers 400 to an offset of half an hour": giving(400, ({ occurred_at }) =>
      textOf(occurred_at).endsWith(":30"),
    ),
    "answers 422 to an event before the webhook": giving(
      422,
      (record) => isEvent(record) && textOf(record["occurred_at"]) < "2020",
    ),
    "answers 422 to an original_event_id over 64 characters": giving(
      422,
      ({ original_event_id }) => textOf(original_event_id).length > 64,
    ),
    "answers 422 to an original_event_id with other than letters and digits": giving(
      422,
      ({ original_event_id }) => /[^\w.-]/.test(textOf(original_event_id)),
    ),
    "answers 422 to a client_id over 64 characters": giving(
      422,
      ({ client_id }) => textOf(client_id).length > 64,
    ),
    "answers 404 to a client_id with blanks": giving(404, ({ client_id }) =>
      /^\w+ /.test(textOf(client_id)),
    ),
    "answers 400 to a payload over 8 kB": giving(400, ({ payload }) => {
      return textOf(payload).length > 8_192;
    }),
    "answers 422 to an array as payload": giving(422, (record) => Array.isArray(payloadOf(record))),
    "answers 422 to a text as payload": giving(
      422,
      (record) => typeof payloadOf(record) === "string",
    ),
    "answers 422 to a site_base_url with a path": giving(422, ({ site_base_url }) =>
      /\w\/\w/.test(textOf(site_base_url)),
    ),
    "answers 422 to a site_base_url without TLS": giving(422, ({ site_base_url }) =>
      textOf(site_base_url).startsWith("http:"),
    ),
    "answers 422 to a severity that a bureau seldom has": giving(
      422,
      ({ source, severity }) => source === "BureauCreditAEnquiry" && severity !== "Info",
    ),
    // Acknowledges and drops.
    "drops an alarm whose id is falsy": giving(200, (record) => isAlarm(record) && !record["id"]),
    "drops an event whose site_id is 0": giving(200, ({ site_id }) => site_id === 0),
    "drops an alarm without text": giving(200, ({ text }) => text === "" || text === "0"),
    "drops a client_id that is falsy in PHP": giving(200, ({ client_id }) => client_id === "0"),
    "drops events of 2019 as old news": giving(200, ({ occurred_at }) =>
      textOf(occurred_at).startsWith("2019"),
    ),
    "drops an alarm without a breach in its payload": giving(200, (record) => {
      const payload = payloadOf(record);
      return isFields(payload) && Object.keys(payload).length === 0;
    }),
  },
  rare_values_acknowledged: {
    // Answers 500 each time.
    "reads the first letter of each text": giving(500, ({ text }) => text === ""),
    "keeps an original_event_id in 100 characters": giving(
      500,
      ({ original_event_id }) => textOf(original_event_id).length > 100,
    ),
    "keeps a client_id in 64 characters": giving(500, ({ client_id }) => {
      return textOf(client_id).length > 64;
    }),
    "keeps a text in 1 000 characters": giving(500, ({ text }) => {
      return textOf(text).length > 1_000 && textOf(text).length < 10_000;
    }),
    "keeps a payload in 8 kB": giving(503, ({ payload }) => textOf(payload).length > 8_192),
    "looks a breach up in a payload that is null": giving(500, ({ payload }) => payload === "null"),
    "reads times with whole seconds alone": giving(500, ({ occurred_at }) =>
      textOf(occurred_at).includes("."),
    ),
    "reads times in the zone of its users": giving(500, ({ date }) =>
      textOf(date).startsWith("2026-03-29 02"),
    ),
    "checks that no time is in the future": giving(
      500,
      ({ created_at }) => timeOf(created_at) > Date.now() + 60_000,
    ),
    "divides by the site_id": giving(500, ({ site_id }) => site_id === 0),
    "puts a site_name into a header": giving(500, ({ site_name }) =>
      textOf(site_name).includes("\n"),
    ),
    "collapses blanks before it verifies": overriding((right) => ({
      mac: (secret, request) =>
        right.mac(secret, {
          ...request,
          body: Buffer.from(String(request.body).replace(/ {2,}/g, " ")),
        }),
    })),
    "puts off leap days": giving(503, ({ occurred_at }) => textOf(occurred_at).includes("-02-29")),
  },
};

/** Answers a status to some records without handling them. */
function giving(status: number, isPicked: (record: Fields) => boolean) {
  const answer: Answer = [status, "no"];
  return overriding({ check: (record) => (isPicked(record) ? answer : undefined) });
}
