export { type LambdaEvent, type LambdaResult } from "./http-event.js";
export type { LambdaContext } from "./invocation.js";
export { lambdaHandler, type LambdaHandler, type LambdaHandlerOptions } from "./lambda-handler.js";
