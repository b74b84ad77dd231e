import { nestRows } from "../nest-11/nest-rows.js";

/** Nest 12 on both of its platforms. */
export const rows = nestRows("nest-12", "Nest 12");
