import type { PersonalDataFinding } from "./fixture-refusal.js";
import { createJsonReader, isJson } from "./json-text.js";
import { findPersonalData } from "./personal-data.js";
import { elementOf, memberOf, namesKey, type Place } from "./redaction-rules.js";

/** Maximum number of findings in one refusal. */
const MAX_FINDINGS = 20;
/** Maximum number of levels in a path. */
const MAX_DEPTH = 12;

/**
 * The last check before a fixture is written: finds text that looks personal, and its path. It does not rely on
 * the redaction rules, except for the names that it may repeat in a message.
 *
 * @param text the file.
 * @param body its body as text; undefined if the body is not text.
 */
export function inspectFixture(
  text: string,
  body: string | undefined,
  root: Place,
): readonly PersonalDataFinding[] {
  const kinds = findPersonalData(text);
  if (kinds.length === 0) return [];

  const findings = new Map<string, PersonalDataFinding>();
  for (const leaf of body === undefined ? [] : leavesOf(body, root)) {
    for (const kind of findPersonalData(leaf.text)) {
      findings.set(`${kind} ${leaf.path}`, { kind, path: leaf.path });
    }
    if (findings.size >= MAX_FINDINGS) break;
  }
  const located = new Set([...findings.values()].map(({ kind }) => kind));
  const others = kinds.filter((kind) => !located.has(kind));
  return [...findings.values(), ...others.map((kind) => ({ kind, path: "fixture" }))];
}

/** A key, or a value that contains no other values. */
interface Leaf {
  readonly path: string;
  readonly text: string;
}

/** One level of the path to a leaf. */
interface Level {
  readonly place: Place;
  readonly isList: boolean;
  next: number;
  /** The current key; empty before the first key. */
  key: string;
  value: Place;
}

/** The keys and values of a body, including those of JSON inside a text. */
function* leavesOf(body: string, root: Place, way: readonly string[] = []): Generator<Leaf> {
  const content = body.replace(/^\uFEFF/, "");
  if (!isJson(content)) {
    yield { path: pathOf(way), text: content };
    return;
  }
  const levels: Level[] = [];
  const reader = createJsonReader(content);
  const wayHere = (): readonly string[] => {
    const keys = levels.slice(0, MAX_DEPTH).map(({ key }) => key);
    return [...way, ...keys];
  };

  for (let token = reader.next(); token !== undefined; token = reader.next()) {
    const level = levels.at(-1);
    if (token.kind === "," || token.kind === ":") continue;
    if (token.kind === "}" || token.kind === "]") {
      levels.pop();
      const parent = levels.at(-1);
      if (parent !== undefined) parent.key = "";
      continue;
    }
    const json = content.slice(token.start, token.end);
    if (level?.isList === true) {
      level.key = String(level.next);
      level.value = elementOf(level.place, level.next);
      level.next += 1;
    } else if (level?.key === "") {
      const key = JSON.parse(json) as string;
      level.key = namesKey(level.place, key) ? key : "*";
      level.value = memberOf(level.place, key);
      yield { path: pathOf(wayHere()), text: key };
      continue;
    }
    const place = level?.value ?? root;
    if (token.kind === "{" || token.kind === "[") {
      const isList = token.kind === "[";
      levels.push({ place, isList, next: 0, key: "", value: [] });
      continue;
    }
    const text = token.kind === "string" ? (JSON.parse(json) as string) : json;
    if (token.kind === "string" && /^\s*[[{"]/.test(text)) yield* leavesOf(text, place, wayHere());
    else yield { path: pathOf(wayHere()), text };
    if (level !== undefined) level.key = "";
  }
}

function pathOf(way: readonly string[]): string {
  return way.join(".") || "body";
}
