import type { FixtureRefusal } from "./fixture-refusal.js";

/** Why a delivery was not recorded, in a few words without a full stop. Holds nothing of its body. */
export function refusalSentence(refusal: FixtureRefusal): string {
  switch (refusal.reason) {
    case "personal_data": {
      const places = refusal.findings.map(({ kind, path }) => `${kind} at ${path}`);
      return `what is left of it still looks personal: ${places.join(", ")}`;
    }
    case "write_failed":
      return `its file could not be written: ${codeOf(refusal.error)}`;
    case "overloaded":
      return "too many wait to be written";
    case "unreadable":
      return "its headers or its moment cannot be read";
    case "internal_error":
      return "the recorder failed";
  }
}

function codeOf(error: unknown): string {
  const { code } = Object(error) as { code?: unknown };
  return typeof code === "string" ? code : "unknown error";
}
