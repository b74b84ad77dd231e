/** One rule of a contract, for any test runner: `test(title, run)`. */
export interface ContractCase {
  /** Stable, so that a report can name it. */
  readonly id: string;
  readonly title: string;
  /** Rejects with a `ContractError` where the rule is broken. */
  readonly run: () => Promise<void>;
}

/**
 * Experimental: it may change in a minor version.
 *
 * A rule of a contract was broken. The message says which, and what was answered.
 *
 * @experimental
 */
export class ContractError extends Error {
  override readonly name = "ContractError";
  /** Stable, so that code can branch on it. */
  readonly code = "contract_broken";
}
