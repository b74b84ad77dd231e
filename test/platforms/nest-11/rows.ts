import { nestRows } from "./nest-rows.js";

/** Nest 11 on both of its platforms. */
export const rows = nestRows("nest-11", "Nest 11");
