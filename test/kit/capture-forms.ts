import { inspect } from "node:util";
import { stringify } from "yaml";
import { ALARM_BODY, captured, NOW_MS } from "./diagnosis-capture.js";

export const HEADERS = captured().headers as Record<string, string>;
export const LOWER = Object.fromEntries(
  Object.entries({ Host: "a.example", ...HEADERS }).map(([name, value]) => [
    name.toLowerCase(),
    value,
  ]),
);
export const PAIRS = Object.entries(HEADERS);
export const RAW = PAIRS.flat();
export const LINES = PAIRS.map(([name, value]) => `${name}: ${value}`);
const PARSED: unknown = JSON.parse(ALARM_BODY);
const PRETTY = (value: unknown): string => JSON.stringify(value, null, 2);

function powerShell(text: string): string {
  return text
    .replaceAll(/[`"$]/g, "`$&")
    .replaceAll(/[^ -~]/g, (one) => `$([char]${one.charCodeAt(0)})`);
}

/** An export of Insomnia 5, written by the package that it uses, with a request before the delivery and one after. */
function insomnia5(): string {
  const meta = { id: "req_1", created: 1_760_000_000_000, isPrivate: false };
  const settings = { encodeUrl: true, cookies: { send: true, store: true } };
  const other = { url: "https://a.example/", name: "other", meta, method: "GET", settings };
  const headers = PAIRS.map(([name, value]) => ({ name, value, disabled: false }));
  const body = { mimeType: "application/json", text: ALARM_BODY };
  const webhook = { ...other, name: "webhook", method: "POST", body, headers };
  const folder = { name: "folder", meta, children: [other, webhook, other] };
  const environments = { name: "Base", data: { base: "https://a.example" }, tags: [] };
  const type = "collection.insomnia.rest/5.0";
  return stringify(
    { type, name: "a", collection: [other, folder], environments },
    { aliasDuplicateObjects: false },
  );
}

/** The same delivery in the forms in which people have it. */
export const FORMS: Readonly<Record<string, string>> = {
  "console.log of Node's headers": `${inspect(LOWER)}\n${ALARM_BODY}`,
  "console.log of headersDistinct": `${inspect(new Map(PAIRS))}\n${ALARM_BODY}`,
  "console.log of Headers": `${inspect(new Headers(HEADERS))}\n${ALARM_BODY}`,
  "console.log of rawHeaders": `${inspect(RAW)}\n${ALARM_BODY}`,
  "the headers in JSON": `${JSON.stringify(HEADERS)}\n${ALARM_BODY}`,
  "the headers in JSON, indented": `${PRETTY(HEADERS)}\r\n\r\n${ALARM_BODY}`,
  "rawHeaders in JSON": JSON.stringify({ rawHeaders: RAW, body: ALARM_BODY }),
  "a line of pino": `{"level":30,"msg":"listening"}\n${JSON.stringify({ level: 30, time: NOW_MS, req: { id: 1, method: "POST", headers: LOWER, body: ALARM_BODY } })}\n`,
  "a line of winston": JSON.stringify({
    level: "info",
    message: "webhook",
    headers: LOWER,
    rawBody: ALARM_BODY,
  }),
  "a line of winston with text before it": `info: webhook ${JSON.stringify(LOWER)}\n${ALARM_BODY}`,
  "an export of Postman": PRETTY({
    info: { name: "a" },
    item: [
      { name: "folder", item: [{ name: "other", request: { method: "GET", header: [] } }] },
      {
        name: "webhook",
        request: {
          method: "POST",
          header: PAIRS.map(([key, value]) => ({ key, value, type: "text" })),
          body: { mode: "raw", raw: ALARM_BODY, options: { raw: { language: "json" } } },
          url: { raw: "https://a.example/hook" },
        },
      },
    ],
  }),
  "an export of Insomnia": PRETTY({
    _type: "export",
    resources: [
      { _type: "workspace", name: "a" },
      {
        _type: "request",
        method: "POST",
        headers: PAIRS.map(([name, value]) => ({ id: "pair_1", name, value })),
        body: { mimeType: "application/json", text: ALARM_BODY },
      },
    ],
  }),
  "an export of Insomnia 5": insomnia5(),
  "an event of Pipedream": PRETTY({
    trigger: { event: { method: "POST", headers: LOWER, bodyRaw: ALARM_BODY, body: PARSED } },
  }),
  "a raw event of Pipedream": JSON.stringify({
    headers: LOWER,
    body_b64: Buffer.from(ALARM_BODY).toString("base64"),
    body: PARSED,
  }),
  "a request of Azure Functions": PRETTY({
    method: "POST",
    headers: LOWER,
    body: PARSED,
    rawBody: ALARM_BODY,
  }),
  "getallheaders() by var_export": `array (\n${PAIRS.map(([name, value]) => `  '${name}' => '${value}',\n`).join("")})\n${ALARM_BODY}`,
  "getallheaders() by var_dump": `array(5) {\n${PAIRS.map(([name, value]) => `  ["${name}"]=>\n  string(${value.length}) "${value}"\n`).join("")}}\n${ALARM_BODY}`,
  "Copy as PowerShell": `Invoke-WebRequest -UseBasicParsing -Uri "https://a.example/hook" \`\n-Method "POST" \`\n-Headers @{\n${PAIRS.map(([name, value]) => `  "${name}"="${value}"\n`).join("")}} \`\n-ContentType "application/json" \`\n-Body ([System.Text.Encoding]::UTF8.GetBytes("${powerShell(ALARM_BODY)}"))`,
  "a dict of Python": `{${PAIRS.map(([name, value]) => `'${name}': '${value}'`).join(", ")}}\n${ALARM_BODY}`,
  "a hash of Ruby": `{${PAIRS.map(([name, value]) => `"${name}"=>"${value}"`).join(", ")}}\n${ALARM_BODY}`,
};
