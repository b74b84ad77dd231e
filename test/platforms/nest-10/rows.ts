import { nestRows } from "../nest-11/nest-rows.js";

/** Nest 10 on both of its platforms. */
export const rows = nestRows("nest-10", "Nest 10");
