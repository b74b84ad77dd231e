import { ownOptions } from "../../src/common/option-checks.js";
import { checkOption } from "../option-checks.js";
import { DOCUMENTED_FIELDS, type FieldRule } from "./documented-fields.js";

/**
 * What a recorded fixture keeps beyond the documented fields. Both lists contain dotted paths from the body's
 * root, which continue into the JSON of a payload: `alarm.payload.breach.name`, `alarm.tags.0`. `*` matches any
 * index of a list, and no key, since a key may be data itself. A key that contains a dot cannot be named. Nothing
 * checks what you keep.
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
  readonly path: readonly string[];
  readonly field?: FieldRule | undefined;
  readonly keepsValue?: boolean;
}

/** The place of a value: every rule that leads to it. Without a rule the value is unknown. */
export type Place = readonly Rule[];

/**
 * The place of the body's root.
 *
 * @throws ConfigurationError for a rule that can never apply.
 */
export function checkRedactionRules(given: RedactionRules = {}): Place {
  const rules = ownOptions("redact", given, ["keepKeys", "keepValues"]);
  const documented = Object.entries(DOCUMENTED_FIELDS).flatMap(([record, fields]) =>
    Object.entries(fields).map(([name, field]) => ({ path: [record, name], field })),
  );
  const keys = pathsOf("keepKeys", rules.keepKeys).map((path) => ({ path }));
  const values = pathsOf("keepValues", rules.keepValues).map((path) => ({
    path,
    keepsValue: true,
  }));
  return [...documented, ...keys, ...values];
}

/** The place of a member. Without a rule the key is unknown. */
export function memberOf(place: Place, key: string): Place {
  return childOf(place, ([first]) => first === key && first !== "*");
}

/** The place of an element of a list. */
export function elementOf(place: Place, index: number): Place {
  return childOf(place, ([first]) => first === "*" || first === String(index));
}

function childOf(place: Place, leads: (path: readonly string[]) => boolean): Place {
  return place
    .filter(({ path }) => leads(path))
    .map((rule) => ({ ...rule, path: rule.path.slice(1) }));
}

/** The rule of a documented field. */
export function fieldRuleOf(place: Place): FieldRule | undefined {
  return place.find(({ path, field }) => path.length === 0 && field !== undefined)?.field;
}

/** Whether a value stays unchanged. */
export function keepsValue(place: Place): boolean {
  return place.some((rule) => rule.path.length === 0 && rule.keepsValue === true);
}

function pathsOf(name: string, paths: readonly string[] | undefined): readonly string[][] {
  if (paths === undefined) return [];
  checkOption(Array.isArray(paths), `redact.${name} must be a list of dotted paths`);
  return paths.map((path: unknown) => {
    const segments = typeof path === "string" ? path.split(".") : [""];
    checkOption(
      segments.every((one) => one === "*" || /^[^*]+$/.test(one)),
      `redact.${name} must contain dotted paths, such as alarm.payload.breach.name or alarm.tags.*`,
    );
    return segments;
  });
}
