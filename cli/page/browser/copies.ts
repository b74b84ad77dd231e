import { escapeUnprintable, hasUnprintable } from "../../../kit/unprintable.js";
import type { HeaderLine } from "../../../kit/sending/wire.js";
import type { Delivery } from "./listener-client.js";

/** A text as one word of a POSIX shell. */
function shellWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A header as one word. Its characters are bytes, and beyond ASCII a shell would send each as two. */
function headerWord(text: string): string {
  if (/^[\t -~]*$/.test(text)) return shellWord(text);
  return `"$(printf %s ${btoa(text)} | base64 -d)"`;
}

function base64Of(text: string): string {
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte));
  return btoa(bytes.join(""));
}

/** Headers that curl and the connection set themselves. */
const CONNECTION = /^(?:connection|content-length|host|transfer-encoding|expect|accept-encoding)$/i;

/**
 * A command that sends the delivery again, byte for byte. It holds no character that a terminal obeys: the body may be
 * a stranger's, and some characters end the command at paste, and begin another.
 */
export function asCurl({ headers, body, bodyBase64 = "" }: Delivery): string {
  const lines = headers
    .filter(([name]) => !CONNECTION.test(name))
    .map(([name, value]) => `-H ${headerWord(value === "" ? `${name};` : `${name}: ${value}`)}`);
  const isText = body !== undefined && !hasUnprintable(body);
  const data = isText ? `--data-raw ${shellWord(body)}` : "--data-binary @-";
  const curl = [
    "curl",
    "-sS",
    "-X POST",
    ...lines,
    data,
    shellWord(document.body.dataset["url"] ?? ""),
  ];
  const command = curl.join(" ");
  const base64 = bodyBase64 || base64Of(body ?? "");
  return isText ? command : `printf %s '${base64}' | base64 -d | ${command}`;
}

/** How each test runner writes it. */
const RUNNERS = {
  vitest: { head: 'import { expect, test } from "vitest";\n', check: "expect(outcome).toBe" },
  jest: { head: "", check: "expect(outcome).toBe" },
  "node:test": {
    head: 'import assert from "node:assert/strict";\nimport { test } from "node:test";\n',
    check: "assert.equal",
  },
} as const;

export type Runner = keyof typeof RUNNERS;

/** Outcomes that a receiver with the test secret gives the same bytes, too. */
const KEPT = ["unrecognized", "type_mismatch"];

/** Content-Type and the webhook headers. */
const isKept = ([name]: HeaderLine): boolean =>
  document.body.dataset["headers"]?.split(" ").includes(name.toLowerCase()) === true;

/** A test, with every invisible character escaped, that gives a receiver the same body, or the same request if it is not authentic. */
export function asTest(delivery: Delivery, runner: Runner): string {
  const { id, type = "", headers, body, bodyBase64 = "", outcome, at } = delivery;
  const isSigned = id !== undefined && outcome !== "stale";
  const expected = isSigned && !KEPT.includes(outcome) ? "handled" : outcome;
  const { head, check } = RUNNERS[runner];
  const bytes =
    body === undefined ? `Buffer.from("${bodyBase64}", "base64")` : JSON.stringify(body);
  const kept = headers.filter(isKept);
  const request = isSigned
    ? `await signedDelivery({ type: ${JSON.stringify(type)}, body, secret })`
    : `{ headers: ${JSON.stringify(Object.fromEntries(kept))}, body }`;
  const from = (names: string, name: string): string =>
    runner === "jest" ? `const ${names} = require("${name}");` : `import ${names} from "${name}";`;
  const secret = runner === "jest" ? "TEST_SECRET: secret" : "TEST_SECRET as secret";
  const kit = `{ ${isSigned ? "signedDelivery, " : ""}${secret} }`;
  return escapeUnprintable(`${head}${from("{ createWebhookReceiver }", "identity-gateway-webhooks")}
${from(kit, "identity-gateway-webhooks/testing")}

const body = ${bytes};
const handlers = { new_alarm: () => undefined, delete_my_data_event: () => undefined }; // yours

test("a delivery of ${at} is ${expected}", async () => {
  const receiver = createWebhookReceiver({ secret, handlers });
  const { outcome } = await receiver.receive(${request});
  ${check}(${runner === "node:test" ? "outcome, " : ""}${JSON.stringify(expected)});
});
`);
}
