import { ONLINE_DATA_EVENT_TYPES } from "../../src/records/online-data-event.js";
import { ALARM_EVENT_TYPES, sampleAlarm } from "../samples/sample-alarm.js";
import { sampleOnlineDataEvent } from "../samples/sample-online-data-event.js";
import { madeUpDeliveryId } from "../random.js";
import { COMPUTE_SIGNATURE, type ConformanceRules } from "./conformance-rule.js";
import { isRetried } from "./receiver-answer.js";
import {
  BIG,
  HOSTILE_TEXTS,
  NON_ASCII,
  ofRecords,
  PROXY_HEADERS,
  rareDeliveries,
  USER_AGENTS,
} from "./records.js";
import {
  each,
  freshSeed,
  sampleText,
  withMember,
  wrongSecret,
  type Delivery,
} from "./test-deliveries.js";

const OPEN_FIX = "Accept unknown fields and values: the gateway may add some at any time.";
const RAW_BODY_FIX =
  "Verify the raw bytes before any parser sees them, never JSON that was serialized again.";
const CLOCK_FIX = "Tolerate a few minutes in both directions (Authentication, rule 7).";
const FORGERIES = 100;
const FORGERIES_AT_A_TIME = 20;

/** Every kind of record that the gateway's document allows, in every form in which it can arrive, must be accepted. */
export const acceptanceRules: ConformanceRules = {
  alarm: {
    title: "a genuine alarm is acknowledged",
    needs: ["new_alarm"],
    fix: `${COMPUTE_SIGNATURE}. Check that this is the secret of this webhook, without a newline at its end.`,
    cause: "plain",
    accept: async ({ deliver }) => [["an alarm", await deliver({ type: "new_alarm" })]],
  },
  event: {
    title: "a genuine Online Data event is acknowledged",
    needs: ["delete_my_data_event"],
    fix: ({ types }) => `${COMPUTE_SIGNATURE}. If the receiver gets only alarms, set ${types}.`,
    cause: "plain",
    accept: async ({ deliver }) => [["an event", await deliver({ type: "delete_my_data_event" })]],
  },
  alarm_types: {
    title: "an alarm of every documented event_type is acknowledged",
    needs: ["new_alarm"],
    fix: "Accept every event_type and source of the gateway's document.",
    accept: ofRecords(
      ALARM_EVENT_TYPES.map((event_type) => ["new_alarm", event_type, { event_type }]),
    ),
  },
  event_types: {
    title: "an event of every documented type is acknowledged, with and without a site",
    needs: ["delete_my_data_event"],
    fix: "Accept every event.type of the gateway's document. The site fields may be null.",
    accept: ofRecords(
      ONLINE_DATA_EVENT_TYPES.map((type) => ["delete_my_data_event", type, { type }]),
    ),
  },
  date_formats: {
    title: "both date formats are acknowledged",
    fix: "Accept `YYYY-MM-DD HH:MM:SS` and ISO 8601 with `Z` or an offset (Versioning, rules 2 and 3).",
    accept: (context) =>
      context.records(
        (["legacy", "standardized"] as const).flatMap((format) => {
          const options = { seed: freshSeed(), format };
          const event = sampleOnlineDataEvent("DATA_REAPPEARED", {}, options);
          return [
            ["new_alarm", `${format} dates`, { ...sampleAlarm({}, options) }],
            ["delete_my_data_event", `${format} date of an event`, { ...event }],
          ] as const;
        }),
      ),
  },
  unknown_fields: {
    title: "a record with a new field is acknowledged",
    fix: OPEN_FIX,
    accept: async (context) => [
      ...(await context.records([
        ["new_alarm", "a new field", { risk: { score: 7, of: [10] } }],
        ["delete_my_data_event", "a new field of an event", { evidence: { pages: [1, null] } }],
      ])),
      ...(await each(context.settings.types, async (type) => {
        const body = withMember(sampleText(type), '"meta":{"schema":"2027-01-01"}');
        return [`a new key beside the ${type}`, await context.deliver({ type, body })] as const;
      })),
    ],
  },
  unknown_values: {
    title: "a record with a new severity, category, source or event type is acknowledged",
    fix: OPEN_FIX,
    accept: ofRecords([
      ["new_alarm", "a new severity", { severity: "Critical" }],
      ["new_alarm", "a new category", { category_id: 8 }],
      ["new_alarm", "a new event_type", { event_type: "wallet_hacked" }],
      ["new_alarm", "a new source", { source: "BureauX2", event_type: "BureauX2" }],
      ["delete_my_data_event", "a new severity of an event", { severity: "NOTICE" }],
    ]),
  },
  rare_values_acknowledged: {
    level: "should",
    title: "a record with rare but documented values, or an id in capitals, is acknowledged",
    why: "A record that fails at every attempt is lost after the tenth: nothing about it changes meanwhile.",
    fix: "Accept every value that the gateway's document allows, in each column, parser and log line.",
    async whenAccepted(context) {
      // Its first part marks it as made up.
      const id = madeUpDeliveryId().replace(/-.*/, (rest) => rest.toUpperCase());
      const capitals = ["an id in capitals", await context.deliver({ id })] as const;
      const rare = [...(await rareDeliveries(context)), capitals];
      await context.inGroups(rare, async ([name, delivery]) => {
        const first = await context.sendGenuine(delivery);
        // A fault of the moment is not the record's.
        const answer = isRetried(first) ? await context.sendAgain(delivery) : first;
        context.expectAcknowledged(name, answer);
      });
    },
  },
  non_ascii: {
    title: "a record with text beyond ASCII is acknowledged",
    fix: `${RAW_BODY_FIX} Length and signature count bytes, not characters.`,
    cause: "bytes",
    accept: ofRecords([
      ["new_alarm", "UTF-8", { text: NON_ASCII }],
      ["delete_my_data_event", "UTF-8 in an event", { site_name: NON_ASCII }],
    ]),
  },
  exact_bytes: {
    title: "JSON with unusual white space and escapes is acknowledged",
    why: "The signature covers the exact bytes. JSON that was serialized again never matches it.",
    fix: RAW_BODY_FIX,
    cause: "bytes",
    accept: (context) =>
      context.ofEachType(async (deliver) => {
        const [spaced, text] = [(await deliver()).text, (await deliver()).text];
        // Some languages escape slashes and everything beyond ASCII. JSON allows to escape any letter.
        const escaped = text.replaceAll("/", "\\/").replaceAll("a", "\\u0061");
        return [
          ["white space", await deliver({ body: `\r\n ${spaced.replace(":", " :\t")}\n\n` })],
          ["escapes", await deliver({ body: escaped })],
        ];
      }),
  },
  nested_text: {
    title: "delimiters, quotes and escapes inside the payload are acknowledged",
    needs: ["new_alarm"],
    fix: `${RAW_BODY_FIX} The payload is JSON inside a JSON string.`,
    cause: "bytes",
    accept: (context) => {
      const nested = { "a:b": 'v1:1:"\\\n\u0001\u007f', nested: '{"k":"\\"}"}' };
      const payload = JSON.stringify(nested);
      return context.records([["new_alarm", "a payload full of escapes", { payload }]]);
    },
  },
  hostile_text: {
    title: "text that looks like an attack, a template or an escape is acknowledged",
    why: "Alarms quote what was found in leaks. A filter in front that takes it for an attack refuses these alarms for good.",
    fix: `Switch off the filter for this path: the signature proves who sent it. ${RAW_BODY_FIX}`,
    accept: ofRecords(
      HOSTILE_TEXTS.flatMap((text) => {
        const name = JSON.stringify(text);
        return [
          ["new_alarm", name, { text }],
          ["delete_my_data_event", `${name} in an event`, { site_name: text }],
        ] as const;
      }),
    ),
  },
  big_alarm: {
    title: "a record of 200 KB is acknowledged",
    why: "A leak with many entries makes a big alarm. A parser with a small limit refuses it for good.",
    fix: "Raise the body limit of every parser and proxy in front (Express: 100 kB by default).",
    cause: "size",
    accept: ofRecords([
      ["new_alarm", "200 KB", { text: BIG }],
      ["delete_my_data_event", "an event of 200 KB", { evidence: BIG }],
    ]),
  },
  chunked: {
    title: "a body without Content-Length is acknowledged",
    fix: "Read the body to its end, whatever its headers say about its length.",
    cause: "transport",
    accept: async ({ deliver }) => [["chunked", (await deliver()).with({ chunked: true })]],
  },
  header_case: {
    title: "header names in any letter case are acknowledged",
    fix: "Ignore letter case when you look up a header: proxies and HTTP/2 send lower case.",
    accept: async ({ deliver }) => [
      ["lower case", renamed(await deliver(), (name) => name.toLowerCase())],
      ["upper case", renamed(await deliver(), (name) => name.toUpperCase())],
    ],
  },
  unknown_headers: {
    title: "a delivery with unknown headers and any User-Agent is acknowledged",
    fix: "Ignore headers that you do not know, and do not filter robots on this path.",
    accept: async ({ deliver }) => {
      const trace = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
      const traced = (await deliver()).withHeader("traceparent", trace);
      const attempt = traced.withHeader("X-Webhook-Attempt", "2");
      const agents = await each(USER_AGENTS, async (agent) => {
        return [`the agent ${agent}`, (await deliver()).withHeader("User-Agent", agent)] as const;
      });
      return [...agents, ["a trace header and a new X-Webhook header", attempt]];
    },
  },
  many_headers: {
    level: "should",
    title: "a delivery with 8 kB of unknown headers is acknowledged",
    why: "Proxies and tracing add headers. A server with a small limit refuses every alarm from the day on which they do.",
    fix: "Let the server accept 16 kB of headers, as most do by default.",
    accept: async ({ deliver }) => [
      ["8 kB in eight headers", withForeignHeaders(await deliver(), 8, 1_000)],
      ["8 kB in sixty headers", withForeignHeaders(await deliver(), 60, 120)],
    ],
  },
  proxy_headers: {
    title: "a delivery with the headers that proxies add is acknowledged",
    fix: "Take no notice of where a request seems to come from: the signature proves who sent it.",
    accept: ({ deliver }) =>
      each(PROXY_HEADERS, async ([name, value]) => {
        return [`${name}: ${value}`, (await deliver()).withHeader(name, value)] as const;
      }),
  },
  method_override: {
    level: "should",
    title: "a POST with X-HTTP-Method-Override is handled as the POST that it is",
    why: "The gateway never sends this header, so only a proxy or a stranger can. Then the alarm goes to another route, or to none.",
    fix: "Switch off the override of methods for this path.",
    accept: ({ deliver }) =>
      each(["GET", "PUT", "DELETE"], async (method) => {
        const delivery = await deliver();
        return [`the method ${method}`, delivery.withHeader("X-HTTP-Method-Override", method)];
      }),
  },
  minute_old: {
    title: "a delivery that was signed a minute ago is acknowledged",
    why: "Queues and slow networks take time. With a tolerance of seconds such alarms are refused.",
    fix: CLOCK_FIX,
    cause: "clock",
    accept: async ({ deliver }) => [["a minute old", await deliver({ age: 60 })]],
  },
  seconds_ahead: {
    title: "a delivery that was signed up to a minute in the future is acknowledged",
    why: "No two clocks agree to the second. A receiver whose clock is a little behind would refuse every attempt.",
    fix: CLOCK_FIX,
    cause: "clock",
    // Several, for receivers that compare the minute of a clock.
    accept: ({ deliver }) =>
      each([10, 45, 59], async (ahead) => [
        `${ahead} seconds ahead`,
        await deliver({ age: -ahead }),
      ]),
  },
  ban_after_forgeries: {
    title: "genuine deliveries are still accepted after a hundred forgeries",
    why: "Your address may see the gateway and a forger behind the same proxy, and a wrong secret makes the gateway itself look like a forger. A ban loses every alarm while it lasts.",
    fix: "Do not ban a sender for bad signatures. To limit the rate, answer 429 or 503 with Retry-After, and only for seconds.",
    cause: "fix",
    async whenAccepted(context) {
      let refused: string | undefined;
      for (let sent = 0; sent < FORGERIES; sent += FORGERIES_AT_A_TIME) {
        const forgeries = await each(Array.from({ length: FORGERIES_AT_A_TIME }), () =>
          wrongSecret(context.deliver),
        );
        // A limiter may answer some of them. It is the genuine delivery that counts.
        const answers = await each(forgeries, ([, request]) => context.send(request));
        const at = answers.findIndex(({ result }) => result !== "acknowledged");
        refused = forgeries[at]?.[1].id;
      }
      for (const type of context.settings.types) {
        const delivery = await context.deliver({ type });
        const answer = await context.sendGenuine(delivery);
        const name = `a genuine delivery after ${FORGERIES} forgeries`;
        context.ensureNotOfLimiter(name, answer);
        await context.expectAccepted(name, delivery.id, answer);
      }
      if (refused === undefined) return;
      const again = await context.deliver({ id: refused });
      await context.accept("a genuine delivery with the id of a forgery", again);
    },
  },
};

function withForeignHeaders(delivery: Delivery, count: number, bytes: number): Delivery {
  const value = "x".repeat(bytes);
  return delivery.withMore(Array.from({ length: count }, (_, at) => [`X-Trace-${at}`, value]));
}

function renamed(delivery: Delivery, rename: (name: string) => string): Delivery {
  const headers = delivery.headers.map(([name, value]) => [rename(name), value] as const);
  return delivery.with({ headers });
}
