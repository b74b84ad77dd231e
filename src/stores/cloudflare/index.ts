export { d1Store, type D1Store, type D1StoreOptions } from "./d1-store.js";
export { d1Schema } from "./d1-schema.js";
export type { D1Binding, D1Result, D1Statement, D1Value } from "./d1-binding.js";
export type { PurgeOptions } from "./purge.js";
