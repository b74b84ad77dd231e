export { OnAlarm, OnOnlineDataEvent, OnUnrecognized } from "./handler-decorators.js";
export type { WebhookReceiverModuleOptions } from "./module-options.js";
export { InjectWebhookReceiver, WebhookReceiverModule } from "./webhook-receiver-module.js";
