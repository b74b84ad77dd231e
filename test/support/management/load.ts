import { pause } from "../../../src/common/timers.js";
import { sampleAlarm, type GatewayApi, type TwinDelivery } from "../../../kit/index.js";

/** Delivers alarms through a gateway, a few at a time. */
export function startLoad(api: GatewayApi) {
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
    /** How many deliveries were started. */
    started: () => deliveries.length,
    /** Starts no more. Resolves to how all of them ended. */
    async stop() {
      isStopped = true;
      await running;
      return (await Promise.all(deliveries)).flat();
    },
  };
}
