import { expect, test } from "vitest";
import { ALARM_EVENT_TYPES } from "../../kit/index.js";
import { watchlistItemOf } from "../../src/index.js";

test("each watchlist item is a name that a person may read, without a note of the gateway's document", () => {
  expect(watchlistItemOf("domain_hacked")).toBe("Domain");
  const items = ALARM_EVENT_TYPES.map((type) => watchlistItemOf(type) ?? "");
  expect(items.filter((item) => /[()]/.test(item))).toEqual([]);
  expect(watchlistItemOf("BureauIdentity")).toBeUndefined();
});
