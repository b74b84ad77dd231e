export type { DeadDeliveries, DeadDelivery, Discarded, Replayed } from "../dead-deliveries.js";
export { pgBossQueue, type PgBossQueueOptions } from "./queue.js";
