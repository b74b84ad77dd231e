import {
  createGatewayTwin,
  createScaledClock,
  sampleAlarm,
  sampleOnlineDataEvent,
} from "../../kit/index.js";
import { createWebhookReceiver, type DeliveryStore } from "../../src/index.js";
import { TEST_SECRET } from "./deliveries.js";

const ALARMS = 1_000;
const EVENTS = 300;
/** The ten attempts of the gateway's schedule, which take 6 h 40 min, in 48 seconds. */
const SPEED = 500;
const OPEN_AT_ONCE = 50;

/**
 * Sends 1 000 alarms and 300 events, each by two webhooks at once, to two receivers with `once: "record"` that share a
 * store, as while a URL moves. Each tenth run fails. Resolves to how often each record was handled with success, and
 * how many of the 2 600 deliveries the gateway saw acknowledged.
 */
export async function moveUrl(
  stores: readonly [old: DeliveryStore, next: DeliveryStore],
): Promise<{ readonly handled: readonly number[]; readonly acknowledged: number }> {
  const handled = new Map<string, number>();
  let runs = 0;
  const handle = (name: string) => {
    runs += 1;
    if (runs % 10 === 0) throw new Error("the handler fails");
    handled.set(name, (handled.get(name) ?? 0) + 1);
  };
  const twins = stores.map((store, index) => {
    const receiver = createWebhookReceiver({
      secret: TEST_SECRET,
      handlers: {
        new_alarm: ({ id }) => handle(`alarm ${id}`),
        delete_my_data_event: ({ account_id }) => handle(`event ${account_id}`),
      },
      once: "record",
      store,
      logger: false,
      timestampToleranceMs: 24 * 3_600_000,
    });
    return createGatewayTwin({
      target: receiver,
      secret: TEST_SECRET,
      clock: createScaledClock(SPEED),
      faults: { duplicateRate: 0.05, concurrentDuplicateRate: 0.05 },
      seed: index,
    });
  });
  const records = [
    ...Array.from({ length: ALARMS }, (_, at) => ({
      alarm: sampleAlarm({ id: at + 1 }, { seed: at }),
    })),
    ...Array.from({ length: EVENTS }, (_, at) => ({
      event: sampleOnlineDataEvent("DATA_REAPPEARED", { account_id: at + 1 }, { seed: at }),
    })),
  ];
  const reports = await Promise.all(
    twins.map((twin) => twin.deliverMany(records, { concurrency: OPEN_AT_ONCE })),
  );
  await Promise.all(twins.map((twin) => twin.close()));
  const acknowledged = reports.reduce((sum, report) => sum + report.acknowledged, 0);
  return { handled: [...handled.values()], acknowledged };
}
