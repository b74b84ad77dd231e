import { expect } from "vitest";
import type { DeliveryIssue } from "../../src/records/decoded.js";
import type { StandardSchema } from "../../src/records/standard-schema.js";

/** The result of a schema of `/schemas`: the value, or the path and message of each issue. */
export function judged<Output>(
  schema: StandardSchema<Output>,
  value: unknown,
): { readonly value?: Output; readonly issues?: readonly DeliveryIssue[] } {
  const result = schema["~standard"].validate(value);
  if (result instanceof Promise) throw new TypeError("the schema is asynchronous");
  if (result.issues === undefined) return { value: result.value };
  const issues = result.issues.map(({ path = [], message }) => ({
    path: path as DeliveryIssue["path"],
    message,
  }));
  return { issues };
}

/** The value that a schema makes of an input that it accepts. */
export function parsed<Output>(schema: StandardSchema<Output>, value: unknown): Output | undefined {
  const { issues, value: output } = judged(schema, value);
  expect(issues).toBeUndefined();
  return output;
}
