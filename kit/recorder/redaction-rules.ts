import { ownOptions } from "../../src/common/option-checks.js";
import { checkOption } from "../option-checks.js";
import { DOCUMENTED_FIELDS, type FieldRule } from "./documented-fields.js";

/**
 * What a recorded fixture keeps beyond the documented fields. Both lists contain dotted paths from the body's
 * root, which continue into the JSON of a payload: `alarm.payload.breach.name`, `alarm.tags.0`. `*` matches any
 * index and any key that is a plain name (`[A-Za-z_][A-Za-z0-9_-]*`, at most 64 characters), `*_at` the plain
 * names that end so. `**` at the end matches everything below: `alarm.payload.**`. If the keys of an object are
 * data themselves, name the harmless keys instead. A key that contains a dot cannot be named.
 *
 * @experimental
 */
export interface RedactionRules {
  /** Unknown keys to keep, with the keys above them. Their values become placeholders. Default: none. */
  readonly keepKeys?: readonly string[] | undefined;
  /**
   * Texts, numbers and booleans to keep unchanged, with the keys above them. A path to an object or a list keeps
   * only its key. Default: none.
   */
  readonly keepValues?: readonly string[] | undefined;
}

/** A rule, with what is left of its path below a place. */
interface Rule {
  readonly path: readonly Segment[];
  /** Whether it applies to the value at this place. */
  readonly isReached: boolean;
  readonly field?: FieldRule | undefined;
  readonly keepsValue?: boolean;
}

interface Segment {
  readonly name: string;
  /** For a name with a `*` in it. */
  readonly matches?: RegExp;
}

/** The place of a value: every rule that leads to it. Without a rule the value is unknown. */
export type Place = readonly Rule[];

const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/**
 * The place of the body's root.
 *
 * @throws ConfigurationError for a rule that can never apply.
 */
export function checkRedactionRules(given: RedactionRules = {}): Place {
  const rules = ownOptions("redact", given, ["keepKeys", "keepValues"]);
  const documented = Object.entries(DOCUMENTED_FIELDS).flatMap(([record, fields]) =>
    Object.entries(fields).map(([name, field]) => ({ ...ruleOf([record, name]), field })),
  );
  const keys = pathsOf("keepKeys", rules.keepKeys).map((path) => ruleOf(path));
  const values = pathsOf("keepValues", rules.keepValues).map((path) => ruleOf(path));
  return [...documented, ...keys, ...values.map((rule) => ({ ...rule, keepsValue: true }))];
}

function ruleOf(path: readonly string[]): Rule {
  const segments = path.map((name) =>
    name.includes("*") ? { name, matches: expressionOf(name) } : { name },
  );
  return { path: segments, isReached: false };
}

/** The place of a member. Without a rule the key is not allowed. */
export function memberOf(place: Place, key: string): Place {
  return childOf(place, key, PLAIN_NAME.test(key));
}

/** The place of an element of a list. Elements always stay. */
export function elementOf(place: Place, index: number): Place {
  return childOf(place, String(index), true);
}

function childOf(place: Place, name: string, isPlain: boolean): Place {
  return place.flatMap((rule) => {
    const [segment, ...rest] = rule.path;
    if (segment === undefined) return [];
    const isMatch = segment.matches === undefined ? segment.name === name : isPlain;
    if (!isMatch || segment.matches?.test(name) === false) return [];
    // `**` matches again at each depth.
    const path = segment.name === "**" ? rule.path : rest;
    return [{ ...rule, path, isReached: segment.name === "**" || rest.length === 0 }];
  });
}

/** The rule of a documented field. */
export function fieldRuleOf(place: Place): FieldRule | undefined {
  return place.find(({ isReached, field }) => isReached && field !== undefined)?.field;
}

/** Whether a value stays unchanged. */
export function keepsValue(place: Place): boolean {
  return place.some((rule) => rule.isReached && rule.keepsValue === true);
}

/** Whether a rule names the key, so that a message may repeat it. */
export function namesKey(place: Place, key: string): boolean {
  return place.some(({ path: [first] }) => first?.matches === undefined && first?.name === key);
}

function expressionOf(pattern: string): RegExp {
  const parts = pattern.split("*").map((part) => part.replace(/[^\w-]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`);
}

function pathsOf(name: string, paths: readonly string[] | undefined): readonly string[][] {
  if (paths === undefined) return [];
  checkOption(Array.isArray(paths), `redact.${name} must be a list of dotted paths`);
  return paths.map((path: unknown) => {
    const segments = typeof path === "string" ? path.split(".") : [""];
    checkOption(
      !segments.includes(""),
      `redact.${name} must contain dotted paths, such as alarm.payload.breach.name`,
    );
    const last = segments.length - 1;
    checkOption(
      segments.every((one, at) => !one.includes("**") || (one === "**" && at === last)),
      `redact.${name}: ** is a whole key at the end, as in alarm.payload.**`,
    );
    return segments;
  });
}
