import { setTimeout as wait } from "node:timers/promises";
import {
  sampleAlarm,
  sampleOnlineDataEvent,
  signedDelivery,
  TEST_SECRET,
} from "identity-gateway-webhooks/testing";

/** What the gateway does at the moment. */
export interface Sending {
  isSilent: boolean;
  /** Sends no X-Webhook-Signature. */
  isUnsigned: boolean;
  /** After how long it hangs up; undefined for never. */
  hangsUpAfterMs: number | undefined;
  /** Sends types of webhooks and events that are not documented, besides the others. */
  sendsUnknownTypes: boolean;
}

/** Deliveries of the gateway to two apps. */
export type Traffic = ReturnType<typeof startTraffic>;

const EVERY_MS = 200;

/** The gaps before a refused delivery is sent again. They grow, as the gateway's do. */
const GAPS_MS = [6_000, 8_000];

/**
 * Sends a delivery to `url` five times a second, of which one is an event, and one a second to `inboxUrl`. It
 * sends only those again that are answered 409: more retries would only make a failure more visible.
 */
export function startTraffic(url: string, inboxUrl: string) {
  const sending: Sending = {
    isSilent: false,
    isUnsigned: false,
    sendsUnknownTypes: false,
    hangsUpAfterMs: undefined,
  };
  const underWay = new Set<Promise<void>>();
  let ticks = 0;
  let requests = 0;

  const send = async (
    to: string,
    event: Parameters<typeof signedDelivery>[0],
    [gapMs, ...later] = GAPS_MS,
  ) => {
    const { method, headers, body } = await signedDelivery(event);
    const { isUnsigned, hangsUpAfterMs } = sending;
    const sent: Record<string, string> = { ...headers };
    if (isUnsigned) delete sent["X-Webhook-Signature"];
    const signal = hangsUpAfterMs === undefined ? null : AbortSignal.timeout(hangsUpAfterMs);
    requests += 1;
    const answer = await fetch(to, { method, headers: sent, body, signal });
    await answer.arrayBuffer();
    if (answer.status !== 409 || gapMs === undefined) return;
    await wait(gapMs);
    await send(to, { ...event, id: headers["X-Webhook-Id"] }, later);
  };
  const begin = (work: Promise<void>) => {
    // An app that is down or slow is one of the failures.
    const settled = work.catch(() => undefined).finally(() => underWay.delete(settled));
    underWay.add(settled);
  };

  const timer = setInterval(() => {
    if (sending.isSilent) return;
    const number = ticks++;
    begin(send(url, number % 5 === 4 ? eventOf(number) : alarmOf(number)));
    if (number % 5 === 0) begin(send(inboxUrl, alarmOf(number)));
    if (sending.sendsUnknownTypes && number % 5 === 2) begin(send(url, unknownOf(number)));
  }, EVERY_MS);

  return {
    sending,
    /** Number of requests so far. */
    requests: () => requests,
    async close() {
      clearInterval(timer);
      await Promise.all(underWay);
    },
  };
}

function alarmOf(seed: number) {
  const created_at = new Date().toISOString();
  return { secret: TEST_SECRET, alarm: { ...sampleAlarm({}, { seed }), created_at } };
}

function eventOf(seed: number) {
  const type = seed % 2 === 0 ? "DATA_REAPPEARED" : "DATA_DELETED";
  return { secret: TEST_SECRET, event: sampleOnlineDataEvent(type, {}, { seed }) };
}

/** In turn an event of an unknown type, and a webhook of an unknown type. */
function unknownOf(seed: number) {
  const event = sampleOnlineDataEvent("DATA_DELETED", {}, { seed });
  return seed % 2 === 0
    ? { secret: TEST_SECRET, event: { ...event, type: "SITE_VANISHED" } }
    : { secret: TEST_SECRET, type: "new_report", body: '{"report":{}}' };
}
