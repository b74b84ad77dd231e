/**
 * The part of Standard Schema v1 (standardschema.dev) that this package uses. zod, valibot, arktype
 * and others fit it by structure, so these types depend on none of them.
 */
export interface StandardSchema<Output> {
  readonly "~standard": {
    readonly version: 1;
    /** Name of the library that made the schema. */
    readonly vendor: string;
    readonly validate: (
      value: unknown,
    ) => StandardSchemaResult<Output> | Promise<StandardSchemaResult<Output>>;
    /** For type inference only; undefined at run time. */
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

/** The validated value, or the reasons why there is none. */
type StandardSchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardSchemaIssue[] };

/** One reason why a value does not fit a schema. */
export interface StandardSchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}
