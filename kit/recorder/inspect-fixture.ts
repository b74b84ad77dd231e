import { isJson, jsonParts } from "../json-parts.js";
import type { PersonalDataFinding } from "./fixture-refusal.js";
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

/** The keys and values of a body, including those of JSON inside a text. */
function* leavesOf(body: string, root: Place, way: readonly string[] = []): Generator<Leaf> {
  const content = body.replace(/^\uFEFF/, "");
  if (!isJson(content)) {
    yield { path: pathOf(way), text: content };
    return;
  }
  /** By depth: the place of the current value, and its key. */
  const places: Place[] = [root];
  const keys: string[] = [];

  for (const { kind, role, text: json, depth, index } of jsonParts(content)) {
    const text = kind === "string" ? (JSON.parse(json) as string) : json;
    const container = places[depth - 1] ?? [];
    if (role === "element") {
      keys[depth - 1] = String(index);
      places[depth] = elementOf(container, index);
    } else if (role === "key") {
      keys[depth - 1] = namesKey(container, text) ? text : "*";
      places[depth] = memberOf(container, text);
    }
    if (kind !== "string" && kind !== "scalar") continue;
    const here = [...way, ...keys.slice(0, Math.min(depth, MAX_DEPTH))];
    const isNested = kind === "string" && role !== "key" && /^\s*[[{"]/.test(text);
    if (isNested) yield* leavesOf(text, places[depth] ?? [], here);
    else yield { path: pathOf(here), text };
  }
}

function pathOf(way: readonly string[]): string {
  return way.join(".") || "body";
}
