import type { FixtureRefusal } from "../../testing/recorder/fixture-refusal.js";

/** Why a delivery was not recorded, in a few words. */
export function sentenceOn(refusal: FixtureRefusal): string {
  switch (refusal.reason) {
    case "personal_data": {
      const places = refusal.findings.map(({ kind, path }) => `${kind} at ${path}`);
      return `what is left of it still looks personal: ${places.join(", ")}`;
    }
    case "write_failed": {
      const { code } = Object(refusal.error) as { code?: unknown };
      return `its file could not be written${typeof code === "string" ? `: ${code}` : ""}`;
    }
    default:
      return refusal.reason.replaceAll("_", " ");
  }
}
