export { d1Store, type D1Store } from "../../stores/cloudflare/d1-store.js";
export { d1Schema } from "../../stores/cloudflare/d1-store.js";
export type { D1Binding } from "../../stores/cloudflare/d1-store.js";
export { cloudflareQueueHandler, type CloudflareQueueHandler } from "./handler.js";
export { cloudflareQueue, type CloudflareQueue } from "./queue.js";
