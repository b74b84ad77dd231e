import { afterEach, describe, expect, test } from "vitest";
import { expressHandler } from "../../adapters/express.js";
import { fetchHandler } from "../../adapters/fetch.js";
import { honoHandler } from "../../adapters/hono.js";
import { nodeHandler } from "../../adapters/node.js";
import { bullmqQueue } from "../../src/inbox/bullmq/index.js";
import { cloudflareQueue } from "../../src/inbox/cloudflare/index.js";
import { natsQueue } from "../../src/inbox/nats/index.js";
import { rabbitmqQueue } from "../../src/inbox/rabbitmq/index.js";
import { inbox, inboxConsume } from "../../src/inbox/index.js";
import { pgBossQueue } from "../../src/inbox/pg-boss/index.js";
import { sqsQueue } from "../../src/inbox/sqs/index.js";
import { createWebhookReceiver, memoryStore } from "../../src/index.js";
import {
  createGatewayTwin,
  createVirtualClock,
  receiverConformance,
  recordFixtures,
  sampleAlarm,
  sampleOnlineDataEvent,
} from "../../kit/index.js";
import { ENTRIES } from "../../release/entries.js";
import { createCollector } from "../support/collector.js";
import { NOW_MS, TEST_SECRET, delivery } from "../support/deliveries.js";
import { configurationErrorOf, optionsWith, refusalOf } from "./refusal.js";

const receiver = createWebhookReceiver(optionsWith());
const noop = () => undefined;
const now = { now: () => NOW_MS };

type Constructor = (options: never) => unknown;

const adapters = { expressHandler, fetchHandler, honoHandler, nodeHandler };

/** The stores, by the calls that `release/entries.ts` has. */
const stores = await Promise.all(
  ENTRIES.flatMap(({ file, plugs = [] }) =>
    plugs
      .flatMap(({ make }) => make?.split("(", 1) ?? [])
      .map(async (name) => {
        const source = `../../${file}`;
        const exported = (await import(source)) as Readonly<Record<string, Constructor>>;
        return [name, exported[name] ?? expect.fail(`${file} has no ${name}`)] as const;
      }),
  ),
);

const constructors: readonly (readonly [name: string, make: Constructor])[] = [
  ...Object.entries({ createWebhookReceiver, memoryStore }),
  ...stores,
  ...Object.entries({ inbox, inboxConsume, pgBossQueue, bullmqQueue, natsQueue, rabbitmqQueue }),
  ...Object.entries({ sqsQueue, cloudflareQueue }),
  ...Object.entries({ createGatewayTwin, createVirtualClock, receiverConformance }),
  ["recordFixtures", recordFixtures],
  ["sampleAlarm", (options) => sampleAlarm({}, options)],
  ["sampleOnlineDataEvent", (options) => sampleOnlineDataEvent("DATA_DELETED", {}, options)],
  ...Object.entries(adapters).map(
    ([name, mount]) => [name, (options: never) => mount(receiver, options)] as const,
  ),
];

describe("the options of every constructor", () => {
  test.each(constructors)("%s refuses options that are not an object", (name, make) => {
    for (const options of [5, null, "redis://127.0.0.1", noop, []]) {
      const { code, message } = configurationErrorOf(() => make(options as never));
      expect(code).toBe("invalid_options");
      expect(message).toBe(`${name} takes an options object`);
    }
  });

  test.each(constructors)("%s refuses a misspelt option and names it", (name, make) => {
    const { code, message } = configurationErrorOf(() => make({ timeout: 1 } as never));
    expect(code).toBe("unknown_option");
    expect(message).toContain(`timeout is no option of ${name}: is it misspelt? There are `);
  });
});

test("an inherited option, which would have no effect, is refused and named", () => {
  class Settings {
    secret = TEST_SECRET;
    handlers = { new_alarm: noop };
    logger = false;
    get store() {
      return memoryStore();
    }
  }
  const { code, message } = refusalOf(new Settings());
  expect(code).toBe("invalid_options");
  expect(message).toContain("createWebhookReceiver: store is inherited");
  const inherited = Object.create({ maxEntries: 5 }) as object;
  expect(configurationErrorOf(() => memoryStore(inherited)).code).toBe("invalid_options");
});

describe("a polluted Object.prototype", () => {
  const POLLUTED = new Set<string>();

  afterEach(() => {
    for (const name of POLLUTED) Reflect.deleteProperty(Object.prototype, name);
    POLLUTED.clear();
  });

  function pollute(name: string, value: unknown): void {
    POLLUTED.add(name);
    Object.defineProperty(Object.prototype, name, {
      value,
      configurable: true,
      enumerable: true,
      writable: true,
    });
  }

  test("a polluted Object.prototype cannot switch signatures off", () => {
    pollute("acceptUnsignedDeliveries", true);
    const handlers = { new_alarm: noop };
    expect(refusalOf({ handlers, logger: false }).code).toBe("missing_secret");
    expect(() => createWebhookReceiver(optionsWith())).not.toThrow();
  });

  test("a polluted Object.prototype cannot add a secret, also not for a type without one", () => {
    pollute("secret", "of-a-stranger");
    pollute("new_alarm", "of-a-stranger");
    const handlers = { delete_my_data_event: noop };
    expect(refusalOf({ handlers, logger: false }).code).toBe("missing_secret");
    const secret = { delete_my_data_event: "of-the-partner-alone" };
    expect(refusalOf({ handlers, logger: false, secret }).code).toBe("missing_secret");
  });

  test("a polluted Object.prototype changes no status, silences no log and receives no delivery", async () => {
    const { options, lines } = createCollector();
    const seen: unknown[] = [];
    pollute("unverifiable", "reject");
    pollute("onAuthenticDelivery", (shown: unknown) => seen.push(shown));
    pollute("maxBodyBytes", 1);
    const polluted = createWebhookReceiver(optionsWith({ ...now, logger: options.logger }));
    const genuine = await delivery();
    expect(await polluted.receive(genuine)).toMatchObject({ status: 200 });
    const forged = { ...genuine, body: "{}" };
    expect(await polluted.receive(forged)).toMatchObject({ status: 409 });
    expect(lines).toHaveLength(1);
    expect(seen).toEqual([]);
  });

  test("a polluted Object.prototype cannot add a handler", async () => {
    const seen: unknown[] = [];
    pollute("new_alarm", (alarm: unknown) => seen.push(alarm));
    pollute("unrecognized", (record: unknown) => seen.push(record));
    const handlers = { delete_my_data_event: noop };
    const polluted = createWebhookReceiver(optionsWith({ ...now, handlers }));
    expect(await polluted.receive(await delivery())).toMatchObject({ outcome: "unhandled" });
    expect(seen).toEqual([]);
  });

  test.each(Object.entries(adapters))("a polluted prototype sets no %s option", (_name, mount) => {
    pollute("bodyTimeoutMs", "a text, which would be refused");
    pollute("maxEntries", "a text, which would be refused");
    expect(() => mount(receiver)).not.toThrow();
    expect(() => memoryStore()).not.toThrow();
  });
});
