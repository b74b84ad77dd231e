import { expect, test } from "vitest";
import { rawDelivery } from "../support/raw-delivery.js";
import { recordingReceiver } from "../support/recording-receiver.js";

const HANDLED = { outcome: "handled", status: 200, runs: 1 };
const MALFORMED = { outcome: "malformed", status: 409, runs: 0 };

async function outcomeWith(change: (signature: string) => string) {
  const { receive, handled } = recordingReceiver();
  const { headers, body } = rawDelivery();
  const signature = change(headers["x-webhook-signature"]);
  const answer = await receive({
    headers: { ...headers, "x-webhook-signature": signature },
    body,
  });
  return { outcome: answer.outcome, status: answer.status, runs: handled.length };
}

test.each<[string, (signature: string) => string]>([
  ["in capitals", (signature) => `v1=${signature.slice(3).toUpperCase()}`],
  ["in mixed letter case", (signature) => `v1=${mixCase(signature.slice(3))}`],
])("the signature header is accepted %s", async (_, change) => {
  expect(await outcomeWith(change)).toEqual(HANDLED);
});

test.each<[string, (signature: string) => string]>([
  ["without a digit", () => "v1="],
  ["with 62 digits", (signature) => signature.slice(0, -2)],
  ["with 63 digits", (signature) => signature.slice(0, -1)],
  ["with 65 digits", (signature) => `${signature}0`],
  ["with 66 digits", (signature) => `${signature}00`],
  ["without v1=", (signature) => signature.slice(3)],
  ["as V1=", (signature) => `V${signature.slice(1)}`],
  ["as v2=", (signature) => `v2${signature.slice(2)}`],
  ["as v1:", (signature) => `v1:${signature.slice(3)}`],
  ["as sha256=", (signature) => `sha256=${signature.slice(3)}`],
  ["with a no-break space in front", (signature) => `\u00a0${signature}`],
  ["with a space after the equals sign", (signature) => `v1= ${signature.slice(3)}`],
  ["with a newline at the end", (signature) => `${signature}\n`],
  ["with 0x before the digits", (signature) => `v1=0x${signature.slice(5)}`],
  ["with a letter that is not a digit", (signature) => `${signature.slice(0, -1)}g`],
  ["with a full-width digit", (signature) => `${signature.slice(0, -1)}\uff10`],
  ["with a character whose low byte is a digit", (signature) => `${signature.slice(0, -1)}\u0130`],
  ["twice, joined by a comma", (signature) => `${signature},${signature}`],
  ["after a wrong signature", (signature) => `v1=${"0".repeat(64)} ${signature}`],
  ["in base64", (signature) => `v1=${Buffer.from(signature.slice(3), "hex").toString("base64")}`],
])("the signature header is malformed %s", async (_, change) => {
  expect(await outcomeWith(change)).toEqual(MALFORMED);
});

function mixCase(hex: string): string {
  return hex.replace(/[a-f]/g, (digit, at: number) => (at % 2 === 0 ? digit.toUpperCase() : digit));
}
