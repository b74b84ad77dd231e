import type { UnderlyingSource } from "node:stream/web";
import { observedAlarmReceiver, type AlarmHandler } from "../alarm-receiver.js";
import { oddDelivery } from "../odd-delivery.js";

/** A receiver, the bodies of its handler's calls as texts, and its outcomes and log. */
export function createBodyReceiver(options: { maxBodyBytes?: number } = {}) {
  const bodies: string[] = [];
  const keep: AlarmHandler = ({ rawBody }) => bodies.push(new TextDecoder().decode(rawBody));
  const { receiver, reports, lines } = observedAlarmReceiver(keep, options);
  const outcomes = () => reports.map(({ outcome }) => outcome);
  return { receiver, bodies, outcomes, lines };
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
