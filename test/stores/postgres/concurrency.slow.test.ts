import pg from "pg";
import { expect, it } from "vitest";
import { postgresTransactions } from "../../../src/stores/postgres/index.js";

/** A pool of another library than pg, whose `options` may mean anything. */
function poolWith(options: unknown): pg.Pool {
  return Object.assign(new pg.Pool(), { options });
}

it.each([
  [undefined, 9],
  [20, 19],
  [2, 1],
  [1, 1],
])("a PostgreSQL pool with max %s runs %i transactional deliveries at once", (max, expected) => {
  const pool = new pg.Pool(max === undefined ? {} : { max });
  expect(postgresTransactions({ pool }).maxConcurrentDeliveries).toBe(expected);
});

it("a PostgreSQL pool whose max cannot be read leaves the receiver its own default", () => {
  for (const options of [
    undefined,
    {},
    { max: undefined },
    { max: "20" },
    { max: 0 },
    { max: NaN },
  ]) {
    expect(postgresTransactions({ pool: poolWith(options) })).not.toHaveProperty(
      "maxConcurrentDeliveries",
    );
  }
});
