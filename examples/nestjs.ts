// The module of a Nest app: `npx identity-gateway-webhooks init` writes it. Add it to the imports of your root module.
import { Injectable, Module } from "@nestjs/common";
import type { Alarm, DeliveryContext, OnlineDataEvent } from "identity-gateway-webhooks";
import {
  OnAlarm,
  OnOnlineDataEvent,
  WebhookReceiverModule,
} from "identity-gateway-webhooks/nestjs";

@Injectable()
export class GatewayHandlers {
  @OnAlarm()
  notify(alarm: Alarm, { id }: DeliveryContext) {
    console.log(`${id}: ${alarm.event_type}, severity ${alarm.severity}`);
  }

  @OnOnlineDataEvent()
  record(event: OnlineDataEvent, { id }: DeliveryContext) {
    console.log(`${id}: ${event.type}`);
  }
}

// Read at each delivery, so that the app's other tests run without it. A delivery that comes without it is answered
// 503, and the gateway sends it again.
function secret() {
  const found = process.env["GATEWAY_WEBHOOK_SECRET"];
  if (!found) throw new Error("GATEWAY_WEBHOOK_SECRET is not set");
  return found;
}

@Module({
  imports: [WebhookReceiverModule.forRoot({ path: "/webhooks/gateway", secret })],
  providers: [GatewayHandlers],
})
export class GatewayModule {}
