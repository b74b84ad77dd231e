import { ConfigurationError } from "../../src/common/errors.js";
import { ownOptions } from "../../src/common/option-checks.js";
import { DOCUMENTED_FIELDS, type FieldRule } from "./documented-fields.js";

/**
 * What a recorded fixture keeps beyond the documented fields. Both lists contain dotted paths from the body's
 * root, which continue into the JSON of a payload: `alarm.payload.breach.name`, `alarm.tags.0`. `*` matches any
 * index and any key that is a plain name (`[A-Za-z_][A-Za-z0-9_-]*`, at most 64 characters), `*_at` the plain
 * names that end so. `**` at the end matches everything below: `alarm.payload.**`. If the keys of an object are
 * data themselves, name the harmless keys instead. A key that contains a dot cannot be named.
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

/** A node in the tree of allowed paths. */
interface RuleNode {
  readonly named: Map<string, RuleNode>;
  /** The nodes of names with a `*` in them, by that name. */
  readonly matching: Map<string, { readonly matches: RegExp; readonly node: RuleNode }>;
  any: RuleNode | undefined;
  /** The node of everything below, at any depth. */
  below: RuleNode | undefined;
  field: FieldRule | undefined;
  keepsValue: boolean;
}

/** The place of a value: every rule that leads to it. Without a rule the value is unknown. */
export type Place = readonly RuleNode[];

const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/**
 * The place of the body's root.
 *
 * @throws ConfigurationError for a rule that can never apply.
 */
export function checkRedactionRules(given: RedactionRules = {}): Place {
  const rules = ownOptions("redact", given, ["keepKeys", "keepValues"]);
  const root = createNode();
  for (const [record, fields] of Object.entries(DOCUMENTED_FIELDS)) {
    for (const [field, rule] of Object.entries(fields)) {
      nodeAt(root, [record, field]).field = rule;
    }
  }
  for (const path of pathsOf("keepKeys", rules.keepKeys)) nodeAt(root, path);
  for (const path of pathsOf("keepValues", rules.keepValues)) nodeAt(root, path).keepsValue = true;
  return [root];
}

/** The place of a member. Without a rule the key is not allowed. */
export function memberOf(place: Place, key: string): Place {
  return childOf(place, key, PLAIN_NAME.test(key));
}

/** The place of an element of a list. Elements always stay. */
export function elementOf(place: Place, index: number): Place {
  return childOf(place, String(index), true);
}

function childOf(place: Place, segment: string, isAny: boolean): Place {
  const children = place.flatMap(({ named, matching, any, below }) => [
    named.get(segment),
    ...(isAny
      ? [
          any,
          below,
          ...Array.from(matching.values(), ({ matches, node }) =>
            matches.test(segment) ? node : undefined,
          ),
        ]
      : []),
  ]);
  return children.filter((node) => node !== undefined);
}

/** The rule of a documented field. */
export function fieldRuleOf(place: Place): FieldRule | undefined {
  return place.find(({ field }) => field !== undefined)?.field;
}

/** Whether a value stays unchanged. */
export function keepsValue(place: Place): boolean {
  return place.some((node) => node.keepsValue);
}

/** Whether a rule names the key, so that a message may repeat it. */
export function namesKey(place: Place, key: string): boolean {
  return place.some(({ named }) => named.has(key));
}

function createNode(): RuleNode {
  return {
    named: new Map(),
    matching: new Map(),
    any: undefined,
    below: undefined,
    field: undefined,
    keepsValue: false,
  };
}

function nodeAt(root: RuleNode, path: readonly string[]): RuleNode {
  let node = root;
  for (const segment of path) node = childAt(node, segment);
  return node;
}

/** The child for one segment of a rule. It is made at the first rule that needs it. */
function childAt(parent: RuleNode, segment: string): RuleNode {
  if (segment === "**") {
    parent.below ??= createNode();
    // It matches again at each depth.
    parent.below.below = parent.below;
    return parent.below;
  }
  if (segment === "*") return (parent.any ??= createNode());
  const child = parent.named.get(segment) ?? parent.matching.get(segment)?.node ?? createNode();
  if (segment.includes("*")) {
    parent.matching.set(segment, { matches: expressionOf(segment), node: child });
  } else {
    parent.named.set(segment, child);
  }
  return child;
}

function expressionOf(pattern: string): RegExp {
  const parts = pattern.split("*").map((part) => part.replace(/[^\w-]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`);
}

function pathsOf(name: string, paths: readonly string[] | undefined): readonly string[][] {
  if (paths === undefined) return [];
  if (!Array.isArray(paths)) throw invalid(`redact.${name} must be a list of dotted paths`);
  return paths.map((path: unknown) => {
    const segments = typeof path === "string" ? path.split(".") : [];
    if (segments.length === 0 || segments.includes("")) {
      throw invalid(`redact.${name} must contain dotted paths, such as alarm.payload.breach.name`);
    }
    const last = segments.length - 1;
    if (segments.some((one, at) => one.includes("**") && (one !== "**" || at < last))) {
      throw invalid(`redact.${name}: ** is a whole key at the end, as in alarm.payload.**`);
    }
    return segments;
  });
}

function invalid(message: string): ConfigurationError {
  return new ConfigurationError("invalid_option", message);
}
