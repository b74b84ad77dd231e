import { describe, expect, test } from "vitest";
import { ConfigurationError, type Alarm } from "../../src/index.js";
import { createGatewayTwin } from "../../kit/twin/gateway-twin.js";
import { createScaledClock } from "../../kit/twin/scaled-clock.js";
import type {
  GatewayTwinOptions,
  SingleTargetTwinOptions,
  WebhooksTwinOptions,
} from "../../kit/twin/twin-options.js";
import { TEST_SECRET } from "../support/deliveries.js";

const target = () => new Response();
const single = (options: object) => () =>
  createGatewayTwin({ target, secret: TEST_SECRET, ...options } as SingleTargetTwinOptions);
const several = (webhook: object) => () =>
  createGatewayTwin({
    webhooks: [{ target, type: "new_alarm", ...webhook }],
  } as WebhooksTwinOptions);

/** Invalid options, and what the error says about each. */
const REFUSED: readonly [what: string, make: () => unknown, message: string][] = [
  ["a misspelt option", single({ retries: {} }), "retries is no option"],
  ["both forms at once", single({ webhooks: [] }), "target is no option"],
  ["no secret", single({ secret: undefined }), "secret is not given"],
  ["an empty secret", single({ secret: "" }), "secret is empty"],
  ["a secret with a newline", single({ secret: "abc\n" }), "white space at an end"],
  ["a target with another scheme", single({ target: "ftp://example" }), "http or https URL"],
  ["a time-out of 0", single({ timeoutMs: 0 }), "timeoutMs must be"],
  ["a seed with a fraction", single({ seed: 0.5 }), "seed must be"],
  ["an unlisted status rule", single({ unlistedStatus: "drop" }), "unlistedStatus must be"],
  ["no attempts", single({ retry: { attempts: 0 } }), "attempts must be"],
  ["a shrinking gap", single({ retry: { factor: 0.9 } }), "factor must be"],
  ["a factor that is no number", single({ retry: { factor: Number.NaN } }), "factor must be"],
  ["a factor in text", single({ retry: { factor: "2" } }), "factor must be"],
  ["too much jitter", single({ retry: { jitter: 1.1 } }), "jitter must be"],
  ["a first gap over the longest", single({ retry: { maxDelayMs: 9_999 } }), "firstDelayMs must"],
  ["a misspelt retry option", single({ retry: { delay: 1 } }), "delay is no option"],
  ["a rate over 1", single({ faults: { duplicateRate: 2 } }), "duplicateRate must be"],
  ["a misspelt fault", single({ faults: { duplicates: 1 } }), "duplicates is no option"],
  ["an unknown type", several({ type: "alarm", secret: "s" }), "type of webhook 1 must be"],
  ["an unset secret", several({ secret: undefined }), "secret of webhook 1 is empty"],
  ["a misspelt field", several({ is_active: true }), "is_active is no option"],
  ["a speed below 1", () => createScaledClock(0.5), "speed must be"],
];

test("createGatewayTwin accepts either form of options through one variable", async () => {
  const make = (options: GatewayTwinOptions) => createGatewayTwin(options);
  const event = { type: "new_alarm", body: "{}" };
  const one = await make({ target, secret: TEST_SECRET }).deliver(event);
  expect(one).toMatchObject({ end: "acknowledged" });
  const list = await make({ webhooks: [{ target, type: "new_alarm" }] }).deliver(event);
  expect(list).toMatchObject([{ end: "acknowledged" }]);
});

describe("invalid options", () => {
  test.each(REFUSED)(
    "createGatewayTwin or createScaledClock refuses %s",
    (_what, make, message) => {
      expect(make).toThrow(ConfigurationError);
      expect(make).toThrow(message);
    },
  );

  test("a twin refuses an invalid event and invalid options of deliver", async () => {
    const twin = single({})();
    const reject = (event: object, options: object, message: string) =>
      expect(twin.deliver(event as { type: string; body: string }, options)).rejects.toThrow(
        message,
      );
    const event = { type: "new_alarm", body: "{}" };
    await reject({}, {}, "{ alarm }, { event } or { type, body }");
    await reject({ type: "new_alarm", body: {} }, {}, "{ type, body }");
    const noEvents: unknown[] = [null, undefined, 5, { alarm: undefined }, { event: null }];
    for (const odd of [...noEvents, { alarm: "text" }, { alarm: { id: 5n } }]) {
      await reject(odd as object, {}, "the event must be");
      await expect(twin.deliverMany([odd as { alarm: Alarm }])).rejects.toThrow(ConfigurationError);
    }
    await reject(event, { id: "a:b" }, "id must be");
    await reject(event, { times: 0 }, "times must be");
    await reject(event, { parallel: true }, "parallel is no option");
    await expect(twin.deliverMany([event], { concurrency: 0 })).rejects.toThrow("concurrency must");
    expect(twin.history()).toEqual([]);
  });
});
