import "reflect-metadata";
import { Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { OnAlarm, WebhookReceiverModule } from "identity-gateway-webhooks/nestjs";

export async function serve({ secret, handlers }, path, port) {
  class Handlers {
    alarm(alarm, context) {
      handlers.new_alarm(alarm, context);
    }
  }
  // By hand what the decorators of TypeScript do.
  const { prototype } = Handlers;
  OnAlarm()(prototype, "alarm", Object.getOwnPropertyDescriptor(prototype, "alarm"));
  class App {}
  const module = WebhookReceiverModule.forRoot({ path, secret });
  Module({ imports: [module], providers: [Handlers] })(App);
  const app = await NestFactory.create(App, { logger: false });
  await app.listen(port, "127.0.0.1");
}
