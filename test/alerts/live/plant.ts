import { setTimeout as wait } from "node:timers/promises";
import type { TcpProxy } from "../../faults/harness/tcp-proxy.js";
import type { RedisServer } from "../../support/redis/redis-server.js";
import type { FailureId } from "../silent-failures.js";
import type { DemoApp } from "./demo-app.js";
import type { InboxApp } from "./inbox-app.js";
import type { Traffic } from "./traffic.js";

/** The real parts that a failure can be planted in. */
export interface Scene {
  readonly app: DemoApp;
  readonly inboxApp: InboxApp;
  readonly traffic: Traffic;
  /** The server of the app's store, and the network before it. */
  readonly redis: RedisServer;
  readonly network: TcpProxy;
}

/** Plants a failure. Returns what cures it. */
type Plant = (scene: Scene) => Cure | Promise<Cure>;
type Cure = () => void | Promise<void>;

/** How each failure is planted. */
export const PLANTS: Readonly<Record<FailureId, Plant>> = {
  "wrong-secret": deployed({ secret: "whsec_of_another_webhook_01" }),
  "clock-off": deployed({ clockOffMs: -10 * 60_000 }),
  "no-deliveries": sending({ isSilent: true }),
  "no-secret-registered": sending({ isUnsigned: true }),
  "parser-in-front": deployed({ parsesBodies: true }),
  "store-down": async ({ redis }) => {
    await redis.kill();
    return () => redis.start();
  },
  "store-slow": ({ network }) => {
    network.setLatencyMs(1_500);
    return () => network.setLatencyMs(0);
  },
  "handler-slower": ({ app: { work } }) => {
    const ending = new AbortController();
    void slowDown(work, ending.signal);
    return () => {
      ending.abort();
      work.delayMs = 0;
    };
  },
  "event-type-fails": ({ app: { work } }) => {
    work.failsFor = "DATA_REAPPEARED";
    return () => {
      work.failsFor = undefined;
    };
  },
  "dead-jobs": ({ inboxApp }) => {
    inboxApp.setFailing(true);
    return () => inboxApp.setFailing(false);
  },
  "hang-ups": ({ app: { work }, traffic }) => {
    work.delayMs = 500;
    traffic.sending.hangsUpAfterMs = 100;
    return () => {
      work.delayMs = 0;
      traffic.sending.hangsUpAfterMs = undefined;
    };
  },
  "unknown-types": sending({ sendsUnknownTypes: true }),
};

/** From 0 to 14 seconds, two more each second. The time-out is 20 seconds. */
async function slowDown(work: DemoApp["work"], signal: AbortSignal): Promise<void> {
  while (work.delayMs < 14_000 && !signal.aborted) {
    work.delayMs += 2_000;
    await wait(1_000);
  }
  if (signal.aborted) work.delayMs = 0;
}

function deployed(deployment: Parameters<DemoApp["deploy"]>[0]): Plant {
  return ({ app }) => {
    app.deploy(deployment);
    return () => app.deploy({});
  };
}

function sending(change: Partial<Traffic["sending"]>): Plant {
  return ({ traffic: { sending: current } }) => {
    const before = { ...current };
    Object.assign(current, change);
    return () => {
      Object.assign(current, before);
    };
  };
}
