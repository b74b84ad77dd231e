import { setTimeout as wait } from "node:timers/promises";
import { redisStore } from "identity-gateway-webhooks/redis";
import { startTcpProxy, type TcpProxy } from "../../faults/harness/tcp-proxy.js";
import { openRedis } from "../../faults/receivers/redis-client.js";
import { type RedisServer, startRedisServer } from "../../support/redis/redis-server.js";
import { type Prometheus, startPrometheus } from "../prometheus.js";
import {
  changeFor,
  type FailureId,
  SHORTENED,
  shortenedRules,
  type SilentFailure,
  windowSecondsOf,
} from "../rules.js";
import { type DemoApp, type InboxApp, startDemoApp, startInboxApp } from "./apps.js";
import { startTraffic, type Traffic } from "./traffic.js";

/** The real parts that a failure can be planted in. */
interface Scene {
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
const PLANTS: Readonly<Record<FailureId, Plant>> = {
  "wrong-secret": deployed({ secret: "whsec_of_another_webhook_01" }),
  "clock-off": deployed({ clockOffMs: -10 * 60_000 }),
  "no-deliveries": changed(sendingOf, { isSilent: true }),
  "no-secret-registered": changed(sendingOf, { isUnsigned: true }),
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
  "event-type-fails": changed(({ app }) => app.work, { failsFor: "DATA_REAPPEARED" }),
  "dead-jobs": ({ inboxApp }) => {
    inboxApp.setFailing(true);
    return async () => {
      inboxApp.setFailing(false);
      await inboxApp.replayDead();
    };
  },
  burst: ({ app }) => {
    app.deploy({ maxConcurrentDeliveries: 1, handlerTimeoutMs: 2_000 });
    app.work.delayMs = 1_000;
    return () => {
      app.work.delayMs = 0;
      app.deploy({});
    };
  },
  "hang-ups": ({ app: { work }, traffic: { sending } }) => {
    work.delayMs = 500;
    sending.hangsUpAfterMs = 100;
    return () => {
      work.delayMs = 0;
      sending.hangsUpAfterMs = undefined;
    };
  },
  "unknown-types": changed(sendingOf, { sendsUnknownTypes: true }),
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

function sendingOf({ traffic }: Scene): Traffic["sending"] {
  return traffic.sending;
}

/** Changes members of a part, which the cure sets back. */
function changed<Part extends object>(
  partOf: (scene: Scene) => Part,
  change: Partial<Part>,
): Plant {
  return (scene) => changeFor(partOf(scene), change);
}

/** What became of one planted failure. */
export interface FailureResult {
  readonly failure: SilentFailure;
  /** The time in which its alert must fire, in seconds. */
  readonly allowedSeconds: number;
  /** When its alert fired; undefined if it did not in that time. */
  readonly firedAfterSeconds: number | undefined;
  /** Other alerts that fired meanwhile. */
  readonly others: readonly string[];
  /** How long after the cure no alert fired any more. Undefined if one still did after two minutes. */
  readonly quietAfterSeconds: number | undefined;
}

/** What the run has shown. */
export interface ProofResults {
  /** Alerts in the calm phase. */
  readonly calmAlerts: readonly string[];
  readonly calmSeconds: number;
  readonly failures: readonly FailureResult[];
  readonly requests: number;
  readonly seconds: number;
}

interface ProofOptions {
  readonly failures: readonly SilentFailure[];
  readonly onResult: (result: FailureResult) => void;
  /** Called when Prometheus watches both apps, before the calm phase. */
  readonly onReady: (calmSeconds: number) => void;
  /** Ends the run early; its promise then rejects. */
  readonly signal: AbortSignal;
}

const ASK_EVERY_MS = 250;
const MAX_QUIET_SECONDS = 120;
/** Until Prometheus has scraped both apps. */
const MAX_START_SECONDS = 30;
/** Two weeks of the shortened rules and their twelve hours, so that the silence has weeks to compare with. */
const CALM_SECONDS = ["2w", "12h"].reduce(
  (seconds, name) => seconds + Number.parseInt(SHORTENED.get(name) ?? "", 10),
  5,
);

/** Runs the apps, the gateway's traffic and Prometheus, and plants one failure after the other. */
export async function runProof({
  failures,
  onResult,
  onReady,
  signal,
}: ProofOptions): Promise<ProofResults> {
  const startedAt = performance.now();
  const closers: (() => unknown)[] = [];
  const opened = <Part>(part: Part, close: (part: Part) => unknown): Part => {
    closers.unshift(() => close(part));
    return part;
  };
  try {
    const redis = opened(await startRedisServer(), (server) => server.close());
    const inboxRedis = opened(await startRedisServer(), (server) => server.close());
    const network = opened(await startTcpProxy(redis.port), (proxy) => proxy.close());
    const client = opened(openRedis(network.port), (open) => open.destroy());
    const app = opened(await startDemoApp(redisStore({ client })), (one) => one.close());
    const inboxApp = opened(await startInboxApp(inboxRedis.port), (one) => one.close());
    const traffic = opened(startTraffic(app.url, inboxApp.url), (one) => one.close());
    const ports = [app.port, inboxApp.port];
    const prometheus = opened(await startPrometheus(ports, shortenedRules()), (one) => one.close());
    const scene: Scene = { app, inboxApp, traffic, redis, network };

    await until(MAX_START_SECONDS, signal, async () => {
      const [sum] = await prometheus.query("sum(up)");
      return sum?.value === ports.length;
    });
    onReady(CALM_SECONDS);
    const calmAlerts = await alertsDuring(prometheus, CALM_SECONDS, signal);
    const results: FailureResult[] = [];
    for (const failure of failures) {
      const result = await provoke(failure, scene, prometheus, signal);
      results.push(result);
      onResult(result);
    }
    return {
      calmAlerts: [...calmAlerts],
      calmSeconds: CALM_SECONDS,
      failures: results,
      requests: traffic.requests(),
      seconds: (performance.now() - startedAt) / 1_000,
    };
  } finally {
    for (const close of closers) await close();
  }
}

async function provoke(
  failure: SilentFailure,
  scene: Scene,
  prometheus: Prometheus,
  signal: AbortSignal,
): Promise<FailureResult> {
  const allowedSeconds = 2 * windowSecondsOf(failure.alert);
  const cure = await PLANTS[failure.id](scene);
  const others = new Set<string>();
  let firedAfterSeconds: number | undefined;
  await until(allowedSeconds, signal, async (seconds) => {
    const firing = await prometheus.firing();
    for (const alert of firing) if (alert !== failure.alert) others.add(alert);
    if (!firing.has(failure.alert)) return false;
    firedAfterSeconds = seconds;
    return true;
  });
  await cure();
  const quietAfterSeconds = await until(
    MAX_QUIET_SECONDS,
    signal,
    async () => (await prometheus.firing()).size === 0,
  );
  return { failure, allowedSeconds, firedAfterSeconds, others: [...others], quietAfterSeconds };
}

/** All alerts that fire within a time. */
async function alertsDuring(
  prometheus: Prometheus,
  seconds: number,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const fired = new Set<string>();
  await until(seconds, signal, async () => {
    for (const alert of await prometheus.firing()) fired.add(alert);
    return false;
  });
  return fired;
}

/** Asks until it is true. Resolves to the seconds that took; undefined if it is not true in time. */
async function until(
  maxSeconds: number,
  signal: AbortSignal,
  ask: (seconds: number) => Promise<boolean>,
): Promise<number | undefined> {
  const startedAt = performance.now();
  for (;;) {
    signal.throwIfAborted();
    const seconds = (performance.now() - startedAt) / 1_000;
    if (seconds > maxSeconds) return undefined;
    if (await ask(seconds)) return seconds;
    await wait(ASK_EVERY_MS);
  }
}
