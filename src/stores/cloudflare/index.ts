export { d1Store, type D1Store } from "./d1-store.js";
export { d1Schema } from "./d1-schema.js";
export type { D1Binding } from "./d1-binding.js";
