// Run by `npm run test:all`: says what the machine lacks, and makes what the tests need and the repository does not
// hold. All at once, since the compiler of the SQLite driver alone takes as long as the rest.
import { runCommands } from "./commands.js";
import { missingPrograms } from "./engines.js";

const COMMANDS = [
  "tsx test/support/sqlite/build-driver.ts",
  "npm run --silent build",
  "tsx test/platforms/install-for-tests.ts",
];

if (missingPrograms.length > 0) {
  const lines = missingPrograms.map(({ name, debian }) => `  ${name} (Debian: ${debian})\n`);
  process.stderr.write(
    `Not on this machine, so the tests that need it do not run:\n${lines.join("")}` +
      `Install all: apt-get install ${missingPrograms.map(({ debian }) => debian).join(" ")}\n`,
  );
  if (process.env["CI"] === "true") process.exit(1);
}

if ((await runCommands(COMMANDS, { atATime: COMMANDS.length })).length > 0) process.exitCode = 1;
