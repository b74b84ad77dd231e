// Run by `npm test`: makes what the tests need and the repository does not hold. All three at once, since the
// compiler of the SQLite driver alone takes as long as the rest.
import { spawn } from "node:child_process";
import { once } from "node:events";

const COMMANDS = [
  "npm run --silent build:sqlite",
  "npm run --silent build",
  "tsx test/platforms/install-for-tests.ts",
];

const codes = await Promise.all(
  COMMANDS.map(async (command) => {
    const [code] = (await once(spawn(command, { shell: true, stdio: "inherit" }), "exit")) as [
      number | null,
    ];
    if (code !== 0) process.stderr.write(`failed: ${command}\n`);
    return code;
  }),
);
if (codes.some((code) => code !== 0)) process.exitCode = 1;
