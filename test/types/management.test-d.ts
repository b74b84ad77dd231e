// Compiled, never run: the right uses of /management compile, and the wrong ones do not.
import { createWebhookReceiver } from "identity-gateway-webhooks";
import {
  attemptReader,
  checkWebhooks,
  createManagementClient,
  crmLogin,
  recoverDelivery,
  type Webhook,
} from "identity-gateway-webhooks/management";
import { type IsAny } from "./proofs.js";

const baseUrl = "https://gateway.example";
const client = createManagementClient({
  baseUrl,
  token: async () => (await crmLogin({ baseUrl, credentials: { email: "a" } })).token,
});
const receiver = createWebhookReceiver({
  secret: "s",
  handlers: { new_alarm: (_alarm, { recovered }) => recovered === true },
});

const isAny: IsAny<Awaited<ReturnType<typeof client.attempts.list>>[number]> = false;
export const updated = client.webhooks.update(7, { is_active: true }, { withoutSecret: isAny });

export async function wrongUses(webhook: Webhook): Promise<void> {
  // @ts-expect-error A misspelt field.
  await client.webhooks.update(7, { isActive: true });
  // @ts-expect-error The secret is never returned.
  String(webhook.secret);
  // @ts-expect-error A type that the gateway does not have.
  await client.webhooks.create({ title: "a", url: "https://a.example", type: "alarm" });
  // @ts-expect-error The fields of an attempt are not known.
  String((await client.attempts.list(7))[0].status);
  // @ts-expect-error The path of the status is missing.
  attemptReader({ deliveryId: "id", at: "created_at" });
  // @ts-expect-error The URL is missing.
  await checkWebhooks(client, { secret: "s" });
  // @ts-expect-error The type of the delivery is missing.
  await recoverDelivery(receiver, { id: "a", body: "{}" });
}
