/** Why one error code occurs, for the operator. */
export interface CodeCauses {
  /** What the code says, as one sentence. */
  readonly meaning: string;
  /** The usual causes and what to do about each, most frequent first. */
  readonly causes: readonly string[];
  /** The command that finds out more. */
  readonly command?: string;
}

/** One error class of the library, with its codes. */
export interface ErrorCauses {
  /** The entries of the package that export the class: `the package itself` or a subpath. */
  readonly exportedBy: readonly string[];
  /** Where a user meets the error, and why. */
  readonly where: string;
  /** Every code of the class. */
  readonly codes: Readonly<Record<string, CodeCauses>>;
}

/** The error classes of one part of the library by their names. */
export type ErrorTable = Readonly<Record<string, ErrorCauses>>;

export const ITSELF = ["the package itself"] as const;

/** The table entry of a class with one code, exported by `exportedBy`. */
export function oneCode(
  exportedBy: readonly string[],
  where: string,
  code: string,
  causes: CodeCauses,
): ErrorCauses {
  return { exportedBy, where, codes: { [code]: causes } };
}
