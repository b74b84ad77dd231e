export { bodyLimits, type BodyOptions } from "./body-limits.js";
export { discardNodeBody, readNodeBody } from "./node-body.js";
export { UnreadableBody } from "../../src/delivery/request.js";
