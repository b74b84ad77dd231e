import { describe, expect, test } from "vitest";
import { nodeHandler } from "../../adapters/node.js";
import { createWebhookReceiver, memoryStore } from "../../src/index.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { configurationErrorOf, expectRefused, optionsWith, refusalOf } from "./refusal.js";

const HOUR_MS = 3_600_000;
const MAX_TIMER_MS = 2 ** 31 - 1;
const MAX_INTEGER = Number.MAX_SAFE_INTEGER;
const noop = () => undefined;

describe.each([
  {
    name: "timestampToleranceMs",
    min: 1_000,
    max: MAX_INTEGER,
    others: { retentionMs: MAX_INTEGER },
  },
  { name: "retentionMs", min: 72 * HOUR_MS, max: MAX_INTEGER },
  { name: "leaseMs", min: 1_000, max: MAX_TIMER_MS },
  { name: "handlerTimeoutMs", min: 1, max: MAX_TIMER_MS },
  { name: "dependencyTimeoutMs", min: 1, max: MAX_TIMER_MS },
  { name: "maxBodyBytes", min: 1, max: 268_435_456 },
  { name: "maxConcurrentDeliveries", min: 1, max: 1_000_000 },
])("$name", ({ name, min, max, others = {} }) => {
  test(`${name} may be either bound or undefined`, () => {
    for (const value of [min, max, undefined]) {
      expect(() => createWebhookReceiver(optionsWith({ ...others, [name]: value }))).not.toThrow();
    }
  });

  test.each([
    ["just below its bounds", min - 1],
    ["just above its bounds", max + 1],
    ["a fraction", min + 0.5],
    ["not a number", Number.NaN],
    ["null", null],
    ["a text", String(min)],
    ["a list", [min]],
  ])(`${name} may not be %s`, (_, value) => {
    const texts = [name, String(min), String(max)];
    expectRefused({ ...others, [name]: value }, "invalid_option", ...texts);
  });
});

test("timestampToleranceMs may be as long as retentionMs but not longer", () => {
  const retentionMs = 72 * HOUR_MS;
  const longest = optionsWith({ retentionMs, timestampToleranceMs: retentionMs });
  expect(() => createWebhookReceiver(longest)).not.toThrow();
  const longer = { retentionMs, timestampToleranceMs: retentionMs + 1 };
  expectRefused(longer, "invalid_option", /timestampToleranceMs.*retentionMs/);
  // The default retention limits it too.
  expectRefused({ timestampToleranceMs: 168 * HOUR_MS + 1 }, "invalid_option");
});

test("bodyTimeoutMs of an adapter may not be outside its bounds", () => {
  const receiver = createWebhookReceiver(optionsWith());
  for (const value of [0, -1, 1.5, MAX_TIMER_MS + 1, Number.NaN, Infinity, "10000", null]) {
    const bodyTimeoutMs = value as number;
    const error = configurationErrorOf(() => nodeHandler(receiver, { bodyTimeoutMs }));
    expect(error.code).toBe("invalid_option");
    expect(error.message).toMatch(/bodyTimeoutMs.* 1 to 2147483647.*10000/);
  }
});

describe("other options", () => {
  test.each([
    [
      "unverifiable",
      ["retry", "reject", undefined, {}, { stale: "reject", unsigned: "retry" }],
      ["ignore", "RETRY", null, 401, ["stale"], { stale: "ignore" }, { stale: null }],
    ],
    ["once", ["delivery", "record", undefined], ["alarm", null, true, {}]],
    ["onOutcome", [noop, undefined], [null, {}, "log"]],
    ["onAuthenticDelivery", [noop, undefined], [null, {}, "log"]],
    ["logger", [console, false, undefined], [true, null, { warn: noop }, { error: noop }, noop]],
    ["now", [Date.now, undefined], [null, 0, "now"]],
  ])("the option %s accepts its documented values and no others", (name, accepted, refused) => {
    for (const value of accepted) {
      expect(() => createWebhookReceiver(optionsWith({ [name]: value }))).not.toThrow();
    }
    for (const value of refused) expectRefused({ [name]: value }, "invalid_option", name);
  });

  test("unverifiable names the outcomes that it can make final for one that it cannot", () => {
    const message = "in_flight is no option of unverifiable: is it misspelt? There are malformed, ";
    expectRefused({ unverifiable: { in_flight: "reject" } }, "unknown_option", message);
  });

  test("a store needs all four methods, and the error names the missing one", () => {
    for (const method of ["claim", "renew", "complete", "release"]) {
      for (const value of [undefined, "x"]) {
        const store = { ...memoryStore({ maxEntries: 1 }), [method]: value };
        expectRefused({ store }, "invalid_store", method);
      }
    }
  });

  test.each([null, "redis://localhost", noop, {}])("a store may not be %j", (store) => {
    expectRefused({ store }, "invalid_store");
  });

  test.each(["secrets", "Handlers", "toString", "__proto__"])("%s is not an option", (name) => {
    const changes = Object.defineProperty({}, name, { value: 1, enumerable: true });
    expectRefused(changes, "unknown_option", name);
  });

  test.each([undefined, "whsec_a", noop])("options may not be %j", (options) => {
    const { code, message } = refusalOf(options);
    expect(code).toBe("invalid_options");
    expect(message).not.toContain("whsec_a");
  });
});

test("a ConfigurationError is an Error with a name, a code and no secret", () => {
  const error = refusalOf(optionsWith({ secret: [TEST_SECRET, ""], maxBodyBytes: 1 }));
  expect(error).toBeInstanceOf(Error);
  expect(error.name).toBe("ConfigurationError");
  expect(`${String(error)} ${error.stack ?? ""} ${JSON.stringify(error)}`).not.toContain(
    TEST_SECRET,
  );
});
