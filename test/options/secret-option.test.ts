import { describe, expect, test } from "vitest";
import { createWebhookReceiver } from "../../src/index.js";
import { TEST_SECRET } from "../support/deliveries.js";
import { expectRefused, optionsWith } from "./refusal.js";

const accepts = (secret: unknown, more: Record<string, unknown> = {}) => {
  expect(() => createWebhookReceiver(optionsWith({ secret, ...more }))).not.toThrow();
};

test.each<[string, unknown]>([
  ["a text", TEST_SECRET],
  ["one character", "x"],
  ["a text of any script", "hemlighet-åäö-🔐"],
  ["one per webhook type", { new_alarm: "whsec_a", delete_my_data_event: "whsec_b" }],
  [
    "a list per webhook type",
    { new_alarm: ["whsec_a", "whsec_c"], delete_my_data_event: ["whsec_b"] },
  ],
  ["a function", () => TEST_SECRET],
])("secret may be %s", (_, secret) => {
  accepts(secret);
});

/** Accidents of deployments. Each is tried alone, inside a list and under a webhook type. */
const UNUSABLE: [string, unknown, RegExp][] = [
  ["empty", "", /empty/],
  ["a space", " ", /white space/],
  ["a text with a newline behind, as from a file", `${TEST_SECRET}\n`, /white space.*trim/],
  ["a text with a space in front", ` ${TEST_SECRET}`, /white space/],
  ['the text "undefined"', "undefined", /not set/],
  ['the text "null"', "null", /not set/],
];

describe("refused secrets", () => {
  test.each(UNUSABLE)("secret may not be %s", (_, secret, advice) => {
    const places: [unknown, string][] = [
      [secret, "secret "],
      [[secret], "secret[0] "],
      [[TEST_SECRET, secret], "secret[1] "],
      [{ new_alarm: secret, delete_my_data_event: TEST_SECRET }, "secret.new_alarm "],
      [
        { new_alarm: TEST_SECRET, delete_my_data_event: [TEST_SECRET, secret] },
        "secret.delete_my_data_event[1] ",
      ],
    ];
    for (const [given, place] of places) {
      expectRefused({ secret: given }, "unusable_secret", advice, place);
    }
  });

  test.each<[string, unknown]>([
    ["left out", undefined],
    ["null", null],
    ["an empty list", []],
  ])("secret may not be missing: %s", (_, secret) => {
    expectRefused({ secret }, "missing_secret", "secret");
  });

  test.each<[string, unknown]>([
    ["a number", 12_345_678],
    ["a list with undefined", [TEST_SECRET, undefined]],
    ["a list with a number", [5]],
  ])("secret may not be of another type: %s", (_, secret) => {
    expectRefused({ secret }, "unusable_secret");
  });

  test("secret may not be a list with a hole, after which no secret would ever be tried", () => {
    const holed: string[] = [];
    holed[1] = TEST_SECRET;
    expectRefused({ secret: holed }, "unusable_secret");
    expectRefused({ secret: new Array(2) }, "unusable_secret");
  });

  test.each<[string, unknown]>([
    ["a promise", Promise.resolve(TEST_SECRET)],
    ["a Map", new Map([["new_alarm", TEST_SECRET]])],
    ["an empty object", {}],
  ])("secret may not be an object without texts: %s", (_, secret) => {
    expectRefused({ secret }, "missing_secret", "secret");
  });
});

describe("secrets per webhook type", () => {
  const both = { new_alarm: "whsec_a", delete_my_data_event: "whsec_b" };

  test.each(["new_alarm", "delete_my_data_event"])("secrets per type may not lack %s", (type) => {
    for (const value of [undefined, null, []]) {
      const advice =
        value === undefined ? "where only one type is registered, pass its secret as a string" : "";
      const secret = { ...both, [type]: value };
      expectRefused({ secret }, "missing_secret", `secret.${type}`, advice);
    }
  });

  test.each(["added_later", "New_Alarm"])("secret.%s is refused", (type) => {
    const secret = { ...both, [type]: "whsec_c" };
    expectRefused({ secret }, "unusable_secret", "new_alarm and delete_my_data_event");
  });

  test("secrets per webhook type are not read from a prototype", () => {
    const secret: unknown = Object.create(
      { added_later: "whsec_c" },
      Object.getOwnPropertyDescriptors(both),
    );
    accepts(secret);
  });

  test("secrets per webhook type with key and value swapped are not printed", () => {
    const secret = { [TEST_SECRET]: "new_alarm", whsec_b: "delete_my_data_event" };
    expectRefused({ secret }, "unusable_secret", "new_alarm and delete_my_data_event");
  });
});

describe("acceptUnsignedDeliveries", () => {
  test("acceptUnsignedDeliveries is the only way to omit the secret", () => {
    accepts(undefined, { acceptUnsignedDeliveries: true });
    for (const acceptUnsignedDeliveries of [false, undefined]) {
      expectRefused({ secret: undefined, acceptUnsignedDeliveries }, "missing_secret");
      accepts(TEST_SECRET, { acceptUnsignedDeliveries });
    }
  });

  test.each<[string, unknown]>([
    ["a text", TEST_SECRET],
    ["null", null],
    ["a function", () => TEST_SECRET],
  ])("acceptUnsignedDeliveries refuses a secret: %s", (_, secret) => {
    const named = /secret.*acceptUnsignedDeliveries/;
    expectRefused({ secret, acceptUnsignedDeliveries: true }, "conflicting_secret", named);
  });

  test.each(["true", 1, 0, ""])(
    "acceptUnsignedDeliveries may not be %j",
    (acceptUnsignedDeliveries) => {
      for (const secret of [undefined, TEST_SECRET]) {
        const changes = { secret, acceptUnsignedDeliveries };
        expectRefused(changes, "invalid_option", "acceptUnsignedDeliveries");
      }
    },
  );
});

test("a secret given as bytes is refused, and the error says to pass text", () => {
  const secret = new TextEncoder().encode(TEST_SECRET);
  expectRefused({ secret }, "unusable_secret", "not the bytes of a file");
});
