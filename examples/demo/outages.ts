import { createWebhookReceiver, memoryStore } from "identity-gateway-webhooks";
import {
  createGatewayTwin,
  createVirtualClock,
  sampleAlarm,
  TEST_SECRET,
  type WebhookTarget,
  type TwinReport,
  type VirtualClock,
} from "identity-gateway-webhooks/testing";
import type { Ledger } from "./ledger.js";
import { HANDLED, NO_ANSWER, type Answer, type Section } from "./row.js";
import { rowsOf } from "./steps.js";

const MINUTE_MS = 60_000;
const MISMATCH: Answer = { outcome: "signature_mismatch" };

/** The gateway's hours of retries, on a clock that skips the waits. */
export async function deliverThroughOutages(ledger: Ledger): Promise<readonly Section[]> {
  const common = ({ now }: VirtualClock) => ({
    handlers: { new_alarm: ledger.count },
    now,
    store: memoryStore({ now }),
    logger: false as const,
  });

  const down = await deliverAlarms(100, (clock) => {
    const upAt = clock.now() + 6 * 60 * MINUTE_MS;
    const receiver = createWebhookReceiver({ ...common(clock), secret: TEST_SECRET });
    return {
      async receive(request) {
        if (clock.now() < upAt) throw new Error("connection refused");
        return receiver.receive(request);
      },
    };
  });

  const withWrongSecret = (unverifiable: "retry" | "reject"): Promise<TwinReport> =>
    deliverAlarms(1, (clock) => {
      const fixedAt = clock.now() + 10 * MINUTE_MS;
      return createWebhookReceiver({
        ...common(clock),
        unverifiable,
        secret: () => (clock.now() < fixedAt ? "whsec_test_of_another_stage" : TEST_SECRET),
      });
    });
  const retried = await withWrongSecret("retry");
  const rejected = await withWrongSecret("reject");

  return [
    {
      title: "A server that is down for six hours, on a virtual clock",
      rows: rowsOf(
        ledger,
        "100 alarms",
        down.deliveries,
        [`9 attempts in ${timeUntil(9, down)}`, NO_ANSWER, 9],
        [`again after ${timeUntil(10, down)}`, HANDLED],
      ),
      lost: down.lost,
    },
    {
      title: "A wrong secret for ten minutes: why it is answered 409, and not 401",
      rows: [
        ...rowsOf(
          ledger,
          'Alarm, unverifiable: "retry"',
          retried.deliveries,
          [`5 attempts in ${timeUntil(5, retried)}`, { ...MISMATCH, status: 409 }, 5],
          [`again after ${timeUntil(6, retried)}`, HANDLED],
        ),
        ...rowsOf(ledger, 'Alarm, unverifiable: "reject"', rejected.deliveries, [
          "signed and sent",
          { ...MISMATCH, status: 401 },
        ]),
      ],
      lost: [...retried.lost, ...rejected.lost],
    },
  ];
}

async function deliverAlarms(
  count: number,
  targetOn: (clock: VirtualClock) => WebhookTarget,
): Promise<TwinReport> {
  const clock = createVirtualClock();
  const twin = createGatewayTwin({ target: targetOn(clock), secret: TEST_SECRET, clock });
  const alarms = Array.from({ length: count }, (_, seed) => ({ alarm: sampleAlarm({}, { seed }) }));
  const report = await twin.deliverMany(alarms);
  await twin.close();
  return report;
}

/** The time from the first attempt to a later one. */
function timeUntil(number: number, { deliveries: [delivery] }: TwinReport): string {
  const [first, ...others] = delivery?.attempts ?? [];
  const last = others[number - 2];
  if (first === undefined || last === undefined) return "–";
  const minutes = Math.floor((last.at.getTime() - first.at.getTime()) / MINUTE_MS);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
