export { sqsHandler, type SqsHandler } from "./handler.js";
export { sqsQueue, type SqsQueue, type SqsQueueOptions } from "./queue.js";
