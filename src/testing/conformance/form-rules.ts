import type { ConformanceRule } from "./conformance-rule.js";
import type { Delivery } from "./deliveries.js";
import { textOf, withHeader } from "./request-changes.js";
import { alarmWith, taken } from "./taken.js";

const RAW_MEND =
  "Verify the bytes as they came, before any parser; never JSON that was written anew.";

/** What the gateway sends, in every form in which it may come. */
export const formRules: readonly ConformanceRule[] = [
  taken(
    {
      id: "non_ascii",
      title: "text beyond ASCII is acknowledged",
      needs: ["new_alarm"],
      mend: `${RAW_MEND} Length and signature are of bytes, not of characters.`,
    },
    async (deliver) => [
      await alarmWith(deliver, "UTF-8", { text: "Ålarm – тест – 警報 – 🔔 – e\u0301 – \u2028" }),
    ],
  ),
  taken(
    {
      id: "exact_bytes",
      title: "JSON that would be written otherwise by the receiver is acknowledged",
      why: "The signature is over the bytes as they came: over JSON written anew it never fits.",
      mend: RAW_MEND,
    },
    async (deliver) => {
      const [spaced, text] = [textOf(await deliver()), textOf(await deliver())];
      // Some languages escape every slash and whatever is not ASCII, and JSON lets each letter be escaped.
      const escaped = text.replaceAll("/", "\\/").replaceAll("a", "\\u0061");
      return [
        ["white space", await deliver({ body: `\r\n ${spaced.replace(":", " :\t")}\n\n` })],
        ["escapes", await deliver({ body: escaped })],
      ];
    },
  ),
  taken(
    {
      id: "nested_text",
      title: "delimiters, quotes and escapes inside the payload are acknowledged",
      needs: ["new_alarm"],
      mend: `${RAW_MEND} The payload is JSON within a string of JSON.`,
    },
    async (deliver) => [
      await alarmWith(deliver, "a payload full of escapes", {
        payload: JSON.stringify({ "a:b": 'v1:1:"\\\n\u0000\u007f', nested: '{"k":"\\"}"}' }),
      }),
    ],
  ),
  taken(
    {
      id: "big_alarm",
      title: "an alarm of 200 KB is acknowledged",
      needs: ["new_alarm"],
      why: "A leak with much in it makes a big alarm, and a parser's limit refuses it for good.",
      mend: "Raise the body limit of every parser and proxy in front (Express: 100 kB by default).",
    },
    async (deliver) => [await alarmWith(deliver, "200 KB", { text: "x".repeat(200 * 1024) })],
  ),
  taken(
    {
      id: "chunked",
      title: "a body without Content-Length is acknowledged",
      mend: "Read the body to its end, whatever its headers say of its length.",
    },
    async (deliver) => [["chunked", { ...(await deliver()), chunked: true }]],
  ),
  taken(
    {
      id: "header_case",
      title: "header names in any letter case are acknowledged",
      mend: "Look headers up without regard to case: proxies and HTTP/2 write them in lower case.",
    },
    async (deliver) => [
      ["lower case", renamed(await deliver(), (name) => name.toLowerCase())],
      ["upper case", renamed(await deliver(), (name) => name.toUpperCase())],
    ],
  ),
  taken(
    {
      id: "more_headers",
      title: "headers beside the known ones are no obstacle",
      mend: "Ignore headers that you do not know.",
    },
    async (deliver) => [
      [
        "a trace and an X-Webhook header of tomorrow",
        withHeader(
          withHeader(await deliver(), "traceparent", `00-${"a".repeat(32)}-${"b".repeat(16)}-01`),
          "X-Webhook-Attempt",
          "2",
        ),
      ],
    ],
  ),
  taken(
    {
      id: "minute_old",
      title: "a delivery that was built a minute ago is acknowledged",
      why: "Queues and slow networks take time: with a tolerance of seconds those alarms are refused.",
      mend: "Tolerate a few minutes (Authentication, rule 7).",
    },
    async (deliver) => [["a minute old", await deliver({ age: 60 })]],
  ),
];

function renamed(delivery: Delivery, rename: (name: string) => string): Delivery {
  const headers = delivery.headers.map(([name, value]) => [rename(name), value] as const);
  return { ...delivery, headers };
}
