import type { CodeCauses, ErrorTable } from "./error-causes.js";
import { MANAGEMENT_ERRORS } from "./management-errors.js";
import { OPTION_ERRORS } from "./option-errors.js";
import { QUEUE_ERRORS } from "./queue-errors.js";
import { RECEIVER_ERRORS } from "./receiver-errors.js";
import { STORE_ERRORS } from "./store-errors.js";

/**
 * Every error class that a user of a receiver can meet: its codes, why each occurs and what to do. The
 * command line and `docs/errors.md` use these texts. They contain no part of a request.
 */
export const ERROR_CAUSES: ErrorTable = {
  ...OPTION_ERRORS,
  ...RECEIVER_ERRORS,
  ...STORE_ERRORS,
  ...QUEUE_ERRORS,
  ...MANAGEMENT_ERRORS,
};

/** An error code with the class that has it. */
export interface ErrorCode extends CodeCauses {
  readonly code: string;
  /** The name of the class. */
  readonly error: string;
  readonly exportedBy: readonly string[];
  readonly where: string;
}

/** Every error code, in the order of the table. No two classes share a code. */
export const ERROR_CODES: readonly ErrorCode[] = Object.entries(ERROR_CAUSES).flatMap(
  ([error, { exportedBy, where, codes }]) =>
    Object.entries(codes).map(([code, causes]) => ({ code, error, exportedBy, where, ...causes })),
);
