import type { UnderlyingSource } from "node:stream/web";
import { createWebhookReceiver } from "../../../src/index.js";
import { createCollector } from "../collector.js";
import { NOW_MS, TEST_SECRET } from "../deliveries.js";
import { oddDelivery } from "../odd-delivery.js";

/** A receiver, the bodies of its handler's calls as texts, and its outcomes and log. */
export function createBodyReceiver(options: { maxBodyBytes?: number } = {}) {
  const collector = createCollector();
  const bodies: string[] = [];
  const receiver = createWebhookReceiver({
    secret: TEST_SECRET,
    handlers: {
      new_alarm: (_alarm, { rawBody }) => bodies.push(new TextDecoder().decode(rawBody)),
    },
    now: () => NOW_MS,
    ...collector.options,
    ...options,
  });
  const outcomes = () => collector.reports.map(({ outcome }) => outcome);
  return { receiver, bodies, outcomes, lines: collector.lines };
}

/** A request whose body comes from `source`. */
export async function streamingRequest(source: UnderlyingSource<Uint8Array>): Promise<Request> {
  const { headers } = await oddDelivery();
  return new Request("http://gateway.example/", {
    method: "POST",
    headers: headers.map(([name, value]): [string, string] => [name, value]),
    body: new ReadableStream(source),
    duplex: "half",
  });
}
