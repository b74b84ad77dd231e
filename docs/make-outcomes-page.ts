// npm run docs:outcomes: writes docs/outcomes.md anew from the tables of outcomes.
import { writeFile } from "node:fs/promises";
import { outcomesPage } from "./outcomes-page.js";

await writeFile(new URL("outcomes.md", import.meta.url), outcomesPage());
