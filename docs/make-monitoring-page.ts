// npm run docs:monitoring: writes the tables of docs/monitoring.md anew.
import { readFileSync, writeFileSync } from "node:fs";
import { monitoringPage } from "./monitoring-page.js";

const page = new URL("monitoring.md", import.meta.url);
writeFileSync(page, monitoringPage(readFileSync(page, "utf8")));
