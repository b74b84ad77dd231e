import { fixturesFolder, loadFixtures, type Fixture } from "../../examples/demo/fixtures.js";

export { fixturesFolder, type Fixture };

/** Every recorded delivery of `fixtures/`, by name. */
export const fixtures: readonly Fixture[] = await loadFixtures(fixturesFolder);

/** One of them, by its file's name without `.json`. */
export function fixtureNamed(name: string): Fixture {
  const found = fixtures.find((fixture) => fixture.name === name);
  if (found === undefined) throw new Error(`there is no fixture ${name}`);
  return found;
}
