// npm run docs:outcomes: writes docs/outcomes.md and docs/errors.md anew from the tables of outcomes and errors.
import { writeFile } from "node:fs/promises";
import { errorsPage } from "./errors-page.js";
import { outcomesPage } from "./outcomes-page.js";

await writeFile(new URL("outcomes.md", import.meta.url), outcomesPage());
await writeFile(new URL("errors.md", import.meta.url), errorsPage());
