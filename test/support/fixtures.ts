import { fileURLToPath } from "node:url";
import type { Fixture as LoadedFixture, FixtureExpectation } from "../../kit/fixtures/fixture.js";
import { loadFixtures } from "../../kit/fixtures/load-fixtures.js";

/** A published fixture. Each has an expected answer. */
export interface Fixture extends Omit<LoadedFixture, "receivedAt" | "expect"> {
  /** Time of the receiver's clock, in ISO 8601. */
  readonly receivedAt: string;
  readonly expect: Required<Pick<FixtureExpectation, "outcome" | "status">>;
}

export const fixturesFolder = fileURLToPath(new URL("../../fixtures/", import.meta.url));

/** Every recorded delivery of `fixtures/`, by name. */
export const fixtures: readonly Fixture[] = (await loadFixtures(fixturesFolder)).map(published);

function published({ expect, ...fixture }: LoadedFixture): Fixture {
  if (expect?.outcome === undefined) throw new Error(`${fixture.name} expects no outcome`);
  const { outcome, status } = expect;
  return { ...fixture, receivedAt: fixture.receivedAt.toISOString(), expect: { outcome, status } };
}

/** The recorded delivery with this file name, without `.json`. */
export function fixtureNamed(name: string): Fixture {
  const found = fixtures.find((fixture) => fixture.name === name);
  if (found === undefined) throw new Error(`there is no fixture ${name}`);
  return found;
}
