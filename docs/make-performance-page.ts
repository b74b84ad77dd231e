// npm run docs:performance: writes the tables of docs/performance.md and of the README anew from bench/results.
import { readFileSync, writeFileSync } from "node:fs";
import { performancePage, readmeWithPerformance } from "./performance-page.js";

const at = (file: string): URL => new URL(`../${file}`, import.meta.url);
const read = (file: string): string => readFileSync(at(file), "utf8");
const results = { table: read("bench/results/table.md"), stores: read("bench/results/stores.md") };

writeFileSync(at("docs/performance.md"), performancePage(read("docs/performance.md"), results));
writeFileSync(at("README.md"), readmeWithPerformance(read("README.md"), results));
