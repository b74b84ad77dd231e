import "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** On which servers the tests of the adapters run; see vitest.config.ts. */
    readonly servers: "newest" | "others";
  }
}
