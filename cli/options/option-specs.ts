/** One option of a command. `value` is the placeholder of its value in the help. */
export type OptionSpec =
  | { readonly kind: "flag"; readonly help: string }
  | {
      readonly kind: "text";
      readonly value: string;
      readonly help: string;
      readonly choices?: readonly string[] | undefined;
    }
  | { readonly kind: "list"; readonly value: string; readonly help: string }
  | WholeSpec;

/** A whole number; both bounds are allowed values. */
export interface WholeSpec {
  readonly kind: "whole";
  readonly value: string;
  readonly help: string;
  readonly min: number;
  readonly max: number;
  readonly fallback?: number;
}

/** An option without a value. */
export function flag(help: string) {
  return { kind: "flag", help } as const;
}

/** `choices`: the values that it takes, if these are few. The help lists them. */
export function text(value: string, help: string, choices?: readonly string[]) {
  return { kind: "text", value, help, choices } as const;
}

/** An option that may be repeated. */
export function list(value: string, help: string) {
  return { kind: "list", value, help } as const;
}

type Bounds = Pick<WholeSpec, "min" | "max" | "fallback">;

export function whole<const Limits extends Bounds>(value: string, limits: Limits, help: string) {
  return { kind: "whole", value, help, ...limits } as const;
}

/** The options of a command, by name without the dashes. */
export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

/** The values of a command's options. */
export type Values<Specs extends OptionSpecs> = {
  readonly [Name in keyof Specs]: ValueOf<Specs[Name]>;
};

type ValueOf<Spec extends OptionSpec> = Spec extends { kind: "flag" }
  ? boolean
  : Spec extends { kind: "text" }
    ? string | undefined
    : Spec extends { kind: "list" }
      ? readonly string[]
      : Spec extends { fallback: number }
        ? number
        : number | undefined;
