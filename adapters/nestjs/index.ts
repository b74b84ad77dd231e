export {
  OnAlarm,
  OnOnlineDataEvent,
  OnUnrecognized,
  type HandlerDecorator,
} from "./handler-decorators.js";
export type {
  WebhookReceiverModuleAsyncOptions,
  WebhookReceiverModuleOptions,
} from "./module-options.js";
export {
  InjectWebhookReceiver,
  WEBHOOK_RECEIVER,
  WebhookReceiverModule,
} from "./webhook-receiver-module.js";
