import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import {
  AlarmPayloadError,
  createWebhookReceiver,
  parseAlarmPayload,
  parseGatewayTime,
  signDelivery,
  verifySignature,
} from "../../src/index.js";
import { CANARIES, canariesIn, shownOf } from "../support/canaries.js";

describe("the library's own errors", () => {
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
    ["a payload that breaks off", () => parseAlarmPayload({ payload: `{"ssn": "${nationalId}` })],
    ["a payload of white space", () => parseAlarmPayload({ payload: " " })],
    [
      "a payload that does not fit",
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
  ])("the error for %s quotes no canary when printed", (_why, run) => {
    const error = thrownBy(run);
    expect(error).toBeInstanceOf(AlarmPayloadError);
    const shown = [String(error), JSON.stringify(error), inspect(error, { depth: 20 })];
    expect(canariesIn(shown.join("\n"))).toEqual([]);
    expect((error as Error).cause).toBeUndefined();
  });

  it.each<[string, () => unknown]>([
    ["a time", () => parseGatewayTime(nationalId)],
    ["a moment that never was", () => parseGatewayTime("1900-13-01 09:09:88")],
    ["a secret with white space", () => receiverWithSecret(`${secret}\n`)],
    ["a list with such a secret", () => receiverWithSecret([secret, ` ${oldSecret}`])],
    ["a list with no text", () => receiverWithSecret([secret, 7])],
    ["a secret for one type only", () => receiverWithSecret({ new_alarm: secret })],
    [
      "a secret for an unknown type",
      () =>
        receiverWithSecret({ new_alarm: secret, delete_my_data_event: secret, other: oldSecret }),
    ],
    [
      "both a secret and none",
      () => createWebhookReceiver({ secret, acceptUnsignedDeliveries: true, handlers } as never),
    ],
    ["signing an impossible id", () => signDelivery({ secret, id: email, timestamp: 0, body: "" })],
    [
      "signing with an impossible secret",
      () => signDelivery({ secret: ` ${secret}`, id: "1", timestamp: 0, body: nationalId }),
    ],
    [
      "verifying with an impossible secret",
      () => verifySignature({ secret: [secret, `${oldSecret} `], headers: {}, body: nationalId }),
    ],
  ])("the error for %s quotes no canary at all", async (_why, run) => {
    const error = await rejectionOf(run);
    expect(error).toBeInstanceOf(Error);
    expect(canariesIn(shownOf(error))).toEqual([]);
  });

  const handlers = { new_alarm: () => undefined };

  function receiverWithSecret(given: unknown) {
    return createWebhookReceiver({ secret: given as string, handlers });
  }
});

function thrownBy(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

async function rejectionOf(run: () => unknown): Promise<unknown> {
  try {
    await run();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}
