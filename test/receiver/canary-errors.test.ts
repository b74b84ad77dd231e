import { inspect } from "node:util";
import { expect, it } from "vitest";
import {
  AlarmPayloadError,
  createWebhookReceiver,
  parseAlarmPayload,
  parseGatewayTime,
  signDelivery,
  verifySignature,
} from "../../src/index.js";
import { CANARIES, canariesIn, shownOf } from "../support/canaries.js";
import { rejectionOf, thrownBy } from "../support/thrown.js";

const { nationalId, email, iban, secret, oldSecret } = CANARIES;
const schema = (issues: readonly { message: string }[] | Promise<never>) => ({
  "~standard": {
    version: 1 as const,
    vendor: "test",
    validate: () => (issues instanceof Promise ? issues : { issues }),
  },
});

it.each<[string, () => unknown]>([
  ["a payload that is not JSON", () => parseAlarmPayload({ payload: `{ssn: ${nationalId}}` })],
  ["a truncated payload", () => parseAlarmPayload({ payload: `{"ssn": "${nationalId}` })],
  ["a payload of white space", () => parseAlarmPayload({ payload: " " })],
  [
    "a payload that the schema refuses",
    () =>
      parseAlarmPayload(
        { payload: JSON.stringify({ email }) },
        schema([{ message: `unexpected ${email}` }]),
      ),
  ],
  [
    "an asynchronous schema",
    () => parseAlarmPayload({ payload: `"${iban}"` }, schema(Promise.reject(new Error(iban)))),
  ],
])("the printed error for %s quotes no personal data", (_why, run) => {
  const error = thrownBy(run);
  expect(error).toBeInstanceOf(AlarmPayloadError);
  const shown = [String(error), JSON.stringify(error), inspect(error, { depth: 20 })];
  expect(canariesIn(shown.join("\n"))).toEqual([]);
  expect((error as Error).cause).toBeUndefined();
});

it.each<[string, () => unknown]>([
  ["a time", () => parseGatewayTime(nationalId)],
  ["a date that does not exist", () => parseGatewayTime("1900-13-01 09:09:88")],
  ["a secret with white space", () => receiverWithSecret(`${secret}\n`)],
  ["a list with a secret with white space", () => receiverWithSecret([secret, ` ${oldSecret}`])],
  ["a list with a number", () => receiverWithSecret([secret, 7])],
  ["a secret for one type only", () => receiverWithSecret({ new_alarm: secret })],
  [
    "a secret for an unknown type",
    () => receiverWithSecret({ new_alarm: secret, delete_my_data_event: secret, other: oldSecret }),
  ],
  [
    "a secret together with acceptUnsignedDeliveries",
    () => createWebhookReceiver({ secret, acceptUnsignedDeliveries: true, handlers } as never),
  ],
  ["signing an invalid id", () => signDelivery({ secret, id: email, timestamp: 0, body: "" })],
  [
    "signing with an invalid secret",
    () => signDelivery({ secret: ` ${secret}`, id: "1", timestamp: 0, body: nationalId }),
  ],
  [
    "verifying with an invalid secret",
    () => verifySignature({ secret: [secret, `${oldSecret} `], headers: {}, body: nationalId }),
  ],
])("the error for %s holds no personal data and no secret", async (_why, run) => {
  const error = await rejectionOf(run);
  expect(error).toBeInstanceOf(Error);
  expect(canariesIn(shownOf(error))).toEqual([]);
});

const handlers = { new_alarm: () => undefined };

function receiverWithSecret(given: unknown) {
  return createWebhookReceiver({ secret: given as string, handlers });
}
