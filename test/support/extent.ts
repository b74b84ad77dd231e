/**
 * Whether the tests run in full, as `npm run platforms` and `npm run flaws` run some of them. `npm run test:all` leaves
 * out the rows that take long and whose facts another row proves on another engine, host or version.
 */
export const isInFull = process.env["TEST_EXTENT"] === "full";

/** All rows, or those of each run. */
export function rowsOfRun<Row>(rows: readonly Row[], isOfEachRun: (row: Row) => boolean): Row[] {
  return rows.filter((row) => isInFull || isOfEachRun(row));
}
