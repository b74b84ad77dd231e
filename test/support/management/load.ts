import { pause } from "../../../src/common/timers.js";
import { sampleAlarm, type GatewayApi, type TwinDelivery } from "../../../kit/index.js";

/** Deliveries one after the other, until they are stopped. */
export interface Load {
  /** How many deliveries were started. */
  readonly started: () => number;
  /** Starts no more. Resolves to how all of them ended. */
  readonly stop: () => Promise<readonly TwinDelivery[]>;
}

/** Delivers alarms through a gateway, a few at a time. */
export function startLoad(api: GatewayApi): Load {
  const deliveries: Promise<readonly TwinDelivery[]>[] = [];
  let isStopped = false;
  const run = async (): Promise<void> => {
    while (!isStopped) {
      deliveries.push(api.twin.deliver({ alarm: sampleAlarm() }));
      await pause(10);
    }
  };
  const running = run();
  return {
    started: () => deliveries.length,
    async stop() {
      isStopped = true;
      await running;
      return (await Promise.all(deliveries)).flat();
    },
  };
}
