export type { DeadDeliveries, DeadDelivery, Discarded, Replayed } from "../dead-deliveries.js";
export { bullmqQueue, type BullmqConsumerOptions, type BullmqProducerOptions } from "./queue.js";
