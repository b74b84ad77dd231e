import { findPersonalData } from "../../kit/recorder/personal-data.js";
import { redactJson } from "../../kit/recorder/redact-json.js";
import { checkRedactionRules } from "../../kit/recorder/redaction-rules.js";

/** One value of a record: its path, its type, and a placeholder in its place. */
export interface ShapeLine {
  readonly path: string;
  readonly type: string;
  /** Of the same form as the value. Undefined for a list or an object. */
  readonly placeholder?: unknown;
}

const MAX_DEPTH = 8;
/** Any key that is a plain name. A key that may be data, such as an address, is left out with its value. */
const keepKeys = Array.from({ length: MAX_DEPTH }, (_, depth) =>
  Array(depth + 1)
    .fill("*")
    .join("."),
);
const ROOT = checkRedactionRules({ keepKeys });

/**
 * The keys and types of a record, with each value redacted as in a recorded fixture: a text keeps its form, and nothing
 * that could name a person stays.
 */
export function shapeOf(record: unknown): {
  readonly lines: readonly ShapeLine[];
  readonly dropped: number;
} {
  const { text, dropped } = redactJson(JSON.stringify(record ?? null), ROOT);
  const lines = linesOf(JSON.parse(text), "");
  // What a finder recognizes has no place in an issue, also if it is a key.
  return { lines: lines.filter(({ path }) => findPersonalData(path).length === 0), dropped };
}

function linesOf(value: unknown, path: string): readonly ShapeLine[] {
  if (typeof value !== "object" || value === null) {
    const type = value === null ? "null" : typeof value;
    return [{ path, type, placeholder: value }];
  }
  const under = path === "" ? "" : `${path}.`;
  if (Array.isArray(value)) {
    const [first] = value as unknown[];
    const self = { path, type: `list of ${value.length}` };
    return first === undefined ? [self] : [self, ...linesOf(first, `${under}0`)];
  }
  const members = Object.entries(value).flatMap(([key, one]) => linesOf(one, under + key));
  return path === "" ? members : [{ path, type: "object" }, ...members];
}
