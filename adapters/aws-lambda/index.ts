export { lambdaHandler, type LambdaHandler } from "./lambda-handler.js";
