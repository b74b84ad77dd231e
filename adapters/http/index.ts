export { bodyLimits, type BodyLimits, type BodyOptions } from "./body-limits.js";
export { discardNodeBody, readNodeBody, type NodeBody } from "./node-body.js";
export type { NodeRequest } from "./node-connection.js";
export { UnreadableBody, type UnreadableReason } from "../../src/delivery/request.js";
