import { DistinctPlaceholders } from "../../kit/recorder/distinct-placeholders.js";
import { jsonOf } from "../../kit/json-parts.js";
import { redactLeaf } from "../../kit/recorder/redact-body.js";

/** One value of a record: its path, its type, and a placeholder in its place. */
export interface ShapeLine {
  readonly path: string;
  readonly type: string;
  /** Of the same form as the value. Undefined for a list or an object. */
  readonly placeholder?: unknown;
}

const MAX_DEPTH = 8;
/** A name of a field. Any other key may be data, such as an address or a number, and is left out with its value. */
const NAME = /^[A-Za-z_][A-Za-z_-]{0,59}[0-9]{0,3}$/;

/**
 * The keys and types of a record, with each value redacted as in a recorded fixture: a text keeps its form. No value
 * stays.
 */
export function shapeOf(record: unknown): {
  readonly lines: readonly ShapeLine[];
  readonly dropped: number;
} {
  const made = new DistinctPlaceholders();
  let dropped = 0;
  const linesOf = (value: unknown, path: readonly string[]): readonly ShapeLine[] => {
    const shown = path.join(".");
    const stored = typeof value === "string" ? jsonOf(value) : undefined;
    // Headers may be stored so. A body stays a text: no path leads into it.
    const isBody = ["alarm", "event"].some((name) => Object.hasOwn(Object(stored) as object, name));
    if (typeof stored === "object" && stored !== null && !isBody) {
      const [self, ...lines] = linesOf(stored, path);
      return self === undefined ? [] : [{ ...self, type: `${self.type} as JSON text` }, ...lines];
    }
    if (typeof value !== "object" || value === null) {
      const placeholder = JSON.parse(redactLeaf(JSON.stringify(value), [], made)) as unknown;
      return [{ path: shown, type: value === null ? "null" : typeof value, placeholder }];
    }
    if (Array.isArray(value)) {
      const [first] = value as unknown[];
      const self = { path: shown, type: `list of ${value.length}` };
      return first === undefined ? [self] : [self, ...linesOf(first, [...path, "0"])];
    }
    const members = Object.entries(value).filter(
      ([key]) => NAME.test(key) && path.length < MAX_DEPTH,
    );
    dropped += Object.keys(value).length - members.length;
    const lines = members.flatMap(([key, one]) => linesOf(one, [...path, key]));
    return path.length === 0 ? lines : [{ path: shown, type: "object" }, ...lines];
  };
  return { lines: linesOf(record ?? null, []), dropped };
}
