import { putBetween } from "./put-between.js";

/** Where to read more about an option. */
const PAGES: Readonly<Record<string, string>> = {
  handlers: "handlers.md",
  secret: "rotation.md#look-secrets-up",
  store: "stores.md",
  maxConcurrentDeliveries: "stores.md#more-deliveries-than-places",
  once: "handlers.md#one-record-under-two-ids",
  unverifiable: "answers.md",
  onAuthenticDelivery: "test-handlers.md#recording-your-own",
  telemetry: "monitoring.md",
  expectEvery: "monitoring.md#silence",
  logger: "logging.md",
};
const REQUIRED = ["secret", "handlers"];

/** docs/options.md with its table made anew from the docstrings of src/options/options.ts. */
export function optionsPage(page: string, source: string): string {
  const [own = ""] = source.split("/** Options of `drain`. */");
  const members = own.matchAll(/^( {2,6})\/\*\*((?:(?!\*\/).)*)\*\/\s+(\w+)(?:\?|):/gms);
  const docs = new Map<string, string>();
  for (const [, , text = "", name = ""] of members) {
    const line = text.replaceAll(/\s*\n\s*\* ?/g, " ").trim();
    if (!docs.has(name)) docs.set(name, line);
  }
  const names = [...REQUIRED, ...[...docs.keys()].filter((name) => !REQUIRED.includes(name))];
  const rows = names.map((name) => {
    const [text = "", fallback] = (docs.get(name) ?? "").split(/ ?\bDefault (?=[^.]+.*$)/);
    const more = PAGES[name] === undefined ? "" : ` [More](${PAGES[name]})`;
    const shown = REQUIRED.includes(name) ? "required" : (fallback?.replace(/\.$/, "") ?? "none");
    return `| \`${name}\` | ${shown} | ${text}${more} |`;
  });
  const table = ["| option | default | meaning |", "| --- | --- | --- |", ...rows].join("\n");
  return putBetween(page, "src/options/options.ts", table);
}
