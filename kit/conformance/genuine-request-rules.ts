import type { ConformanceRules } from "./conformance-rule.js";
import { BIG, NON_ASCII } from "./record-kinds.js";
import { textOf, withHeader } from "./request-changes.js";
import { ofEachType, recordsWith } from "./rule-kinds.js";
import { each, type Delivery } from "./test-deliveries.js";

const RAW_BODY_FIX =
  "Verify the raw bytes before any parser sees them, never JSON that was serialized again.";
const CLOCK_FIX = "Tolerate a few minutes in both directions (Authentication, rule 7).";
/** What firewalls refuse, and what templates and decoders change. */
const HOSTILE_TEXTS = [
  "<script>alert(1)</script>",
  "' OR 1=1--",
  "../../etc/passwd",
  "${jndi:ldap://x}",
  "{{7*7}}",
  "100%",
  "%41",
  "%s %n",
  "$& $' $1",
  "&amp; &#39;",
  "C:\\new\\table\\u0041",
  "a+b",
  "<?php system('id'); ?>",
  '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>',
  "`id` $(id) | cat /etc/passwd; rm -rf /",
  "%00 %0d%0aSet-Cookie: a=b",
  "https://user:pass@example.test/login.php?id=1&next=//x#top",
  "UNION SELECT * FROM users; DROP TABLE alarms; /* xp_cmdshell */",
  "javascript:eval(atob('YQ==')) onerror=alert(1)",
  "cmd.exe /c powershell -enc AAAA & whoami",
];
/** What clients and libraries call themselves. Filters take some of them for robots. */
const USER_AGENTS = [
  "GuzzleHttp/7",
  "python-requests/2.32.3",
  "Go-http-client/1.1",
  "Java/17.0.12",
  "axios/1.7.2",
  "curl/8.5.0",
  "Symfony HttpClient/Curl",
  "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36",
];
const PROXY_HEADERS = [
  ["X-Forwarded-For", "203.0.113.7, 198.51.100.2"],
  ["X-Forwarded-Proto", "http"],
  ["X-Real-IP", "203.0.113.7"],
  ["Forwarded", "for=203.0.113.7;proto=http"],
  ["Via", "1.0 proxy.example"],
] as const;

/** A genuine request must be accepted in every form in which it can arrive. */
export const genuineRequestRules: ConformanceRules = {
  non_ascii: {
    title: "a record with text beyond ASCII is acknowledged",
    fix: `${RAW_BODY_FIX} Length and signature count bytes, not characters.`,
    accept: (context) =>
      recordsWith(context, [
        ["new_alarm", "UTF-8", { text: NON_ASCII }],
        ["delete_my_data_event", "UTF-8 in an event", { site_name: NON_ASCII }],
      ]),
  },
  exact_bytes: {
    title: "JSON with unusual white space and escapes is acknowledged",
    why: "The signature covers the exact bytes. JSON that was serialized again never matches it.",
    fix: RAW_BODY_FIX,
    accept: (context) =>
      ofEachType(context, async (deliver) => {
        const [spaced, text] = [textOf(await deliver()), textOf(await deliver())];
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
    accept: (context) => {
      const nested = { "a:b": 'v1:1:"\\\n\u0000\u007f', nested: '{"k":"\\"}"}' };
      const payload = JSON.stringify(nested);
      return recordsWith(context, [["new_alarm", "a payload full of escapes", { payload }]]);
    },
  },
  hostile_text: {
    title: "text that looks like an attack, a template or an escape is acknowledged",
    why: "Alarms quote what was found in leaks. A filter in front that takes it for an attack refuses these alarms for good.",
    fix: `Switch off the filter for this path: the signature proves who sent it. ${RAW_BODY_FIX}`,
    accept: (context) =>
      recordsWith(
        context,
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
    accept: (context) =>
      recordsWith(context, [
        ["new_alarm", "200 KB", { text: BIG }],
        ["delete_my_data_event", "an event of 200 KB", { evidence: BIG }],
      ]),
  },
  chunked: {
    title: "a body without Content-Length is acknowledged",
    fix: "Read the body to its end, whatever its headers say about its length.",
    accept: async ({ deliver }) => [["chunked", { ...(await deliver()), chunked: true }]],
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
    accept: async ({ deliver }) => [
      ...(await each(USER_AGENTS, async (agent) => {
        return [`the agent ${agent}`, withHeader(await deliver(), "User-Agent", agent)] as const;
      })),
      [
        "a trace header and a new X-Webhook header",
        withHeader(
          withHeader(await deliver(), "traceparent", `00-${"a".repeat(32)}-${"b".repeat(16)}-01`),
          "X-Webhook-Attempt",
          "2",
        ),
      ],
    ],
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
      each(
        PROXY_HEADERS,
        async ([name, value]) =>
          [`${name}: ${value}`, withHeader(await deliver(), name, value)] as const,
      ),
  },
  method_override: {
    level: "should",
    title: "a POST with X-HTTP-Method-Override is handled as the POST that it is",
    why: "The gateway never sends this header, so only a proxy or a stranger can. Then the alarm goes to another route, or to none.",
    fix: "Switch off the override of methods for this path.",
    accept: ({ deliver }) =>
      each(["GET", "PUT", "DELETE"], async (method) => {
        const delivery = await deliver();
        return [`the method ${method}`, withHeader(delivery, "X-HTTP-Method-Override", method)];
      }),
  },
  minute_old: {
    title: "a delivery that was signed a minute ago is acknowledged",
    why: "Queues and slow networks take time. With a tolerance of seconds such alarms are refused.",
    fix: CLOCK_FIX,
    accept: async ({ deliver }) => [["a minute old", await deliver({ age: 60 })]],
  },
  seconds_ahead: {
    title: "a delivery that was signed ten seconds in the future is acknowledged",
    why: "No two clocks agree to the second. A receiver whose clock is a little behind would refuse every attempt.",
    fix: CLOCK_FIX,
    accept: async ({ deliver }) => [["ten seconds ahead", await deliver({ age: -10 })]],
  },
};

function withForeignHeaders(delivery: Delivery, count: number, bytes: number): Delivery {
  const added = Array.from(
    { length: count },
    (_, at) => [`X-Trace-${at}`, "x".repeat(bytes)] as const,
  );
  return { ...delivery, headers: [...delivery.headers, ...added] };
}

function renamed(delivery: Delivery, rename: (name: string) => string): Delivery {
  const headers = delivery.headers.map(([name, value]) => [rename(name), value] as const);
  return { ...delivery, headers };
}
