import { randomUUID } from "node:crypto";
import { sampleAlarm, signedDelivery } from "../../../kit/index.js";

const FORGERIES = [
  "wrong secret",
  "body changed",
  "id changed",
  "time changed",
  "unsigned",
] as const;

/** A request that the gateway did not make, with an id that it did not choose. */
export async function forgeDelivery(
  secret: string,
  number: number,
): Promise<{ readonly id: string; readonly request: Request }> {
  const kind = FORGERIES[number % FORGERIES.length];
  const id = randomUUID();
  const { headers, body } = await signedDelivery({
    alarm: sampleAlarm({}, { seed: number }),
    secret: kind === "wrong secret" ? `${secret} of another` : secret,
    id: kind === "id changed" ? randomUUID() : id,
  });
  const { "X-Webhook-Signature": signature, ...unsigned } = headers;
  const later = String(Number(headers["X-Webhook-Timestamp"]) + 1);
  const request = new Request("http://receiver.example/", {
    method: "POST",
    headers: {
      ...unsigned,
      "X-Webhook-Id": id,
      ...(kind === "unsigned" ? {} : { "X-Webhook-Signature": signature }),
      ...(kind === "time changed" ? { "X-Webhook-Timestamp": later } : {}),
    },
    body: kind === "body changed" ? String(body).replace("{", "{ ") : String(body),
  });
  return { id, request };
}
