import { createHash } from "node:crypto";
import { ALARM, EVENT } from "../../src/common/gateway-facts.js";
import { HEADERS } from "../../src/delivery/headers.js";
import { ONLINE_DATA_EVENT_TYPES } from "../../src/records/online-data-event.js";
import type { ListenerPage } from "../../kit/listener/listener-api.js";
import { ALARM_EVENT_TYPES } from "../../kit/samples/sample-alarm.js";

/** The keys that hold the records. */
const RECORD_KEYS = ["alarm", "event"];

/** The page of a listener whose deliveries go to `url`. Loads its text only now. */
export async function listenerPage(url: string): Promise<ListenerPage> {
  const { PAGE_HTML } = await import("../page/page-html.js");
  const types = [...ALARM_EVENT_TYPES, ...ONLINE_DATA_EVENT_TYPES];
  const keys = [...RECORD_KEYS, ...Object.keys(ALARM), ...Object.keys(EVENT)];
  const names = ["content-type", ...Object.values(HEADERS).map(({ name }) => name.toLowerCase())];
  const facts = { url, id: HEADERS.id.name, headers: names.join(" "), keys: keys.join(" ") };
  const data = Object.entries(facts).map(([name, value]) => `data-${name}="${value}"`);
  const html = PAGE_HTML.replace("<body>", `<body ${data.join(" ")}>`).replace(
    "<!--types-->",
    types.map((type) => `<option>${type}</option>`).join(""),
  );
  const hashOf = (tag: string): string => {
    const [, text = ""] = new RegExp(`<${tag}>([^]*?)</${tag}>`).exec(html) ?? [];
    return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  };
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf("script")}`,
    `style-src ${hashOf("style")}`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ];
  return { html, policy: policy.join("; ") };
}
