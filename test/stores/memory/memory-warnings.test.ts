import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { beforeEach, describe, expect, it, vi } from "vitest";
import {
  memoryStore,
  metricsText,
  type DeliveryStore,
  type WebhookReceiver,
} from "../../../src/index.js";
import { alarmReceiver } from "../../support/alarm-receiver.js";
import { delivery } from "../../support/deliveries.js";
import { REPOSITORY } from "../../support/package/installed-package.js";

const DAY_MS = 86_400_000;

let warnings: string[];
let runs: string[];

beforeEach(() => {
  warnings = [];
  runs = [];
  for (const name of ["AWS_LAMBDA_FUNCTION_NAME", "K_SERVICE", "KUBERNETES_SERVICE_HOST"]) {
    vi.stubEnv(name, undefined);
  }
});

/** The test secret causes a warning of its own in production. */
function warn(line: string): void {
  if (!line.includes("public test secret")) warnings.push(line);
}

function receiverOn(store: DeliveryStore | undefined): WebhookReceiver {
  return alarmReceiver(({ id }) => runs.push(id), {
    logger: { warn, error: () => undefined },
    ...(store === undefined ? {} : { store }),
  });
}

describe("memoryStore in a receiver", () => {
  it("a memory store warns once when it forgets ids within their retention", async () => {
    const receiver = receiverOn(memoryStore({ maxEntries: 2 }));
    for (const id of ["a", "b"]) await receiver.receive(await delivery({ id }));
    expect(warnings).toEqual([]);
    for (const id of ["c", "d", "e"]) await receiver.receive(await delivery({ id }));
    expect(warnings).toEqual([expect.stringContaining("maxEntries (2): a duplicate of such")]);
    // The forgotten id is handled twice, as the warning says.
    expect(await receiver.receive(await delivery({ id: "a" }))).toMatchObject({
      outcome: "handled",
    });
    expect(runs).toEqual(["a", "b", "c", "d", "e", "a"]);
    expect(warnings).toHaveLength(1);
    expect(metricsText(receiver)).toContain("\ngateway_webhook_store_forgets_total 1\n");
  });

  it("a memory store does not warn when it forgets ids after their retention", async () => {
    let now = 1_000;
    const receiver = receiverOn(memoryStore({ maxEntries: 2, now: () => now }));
    for (const id of ["a", "b", "c", "d", "e", "f"]) {
      await receiver.receive(await delivery({ id }));
      now += 4 * DAY_MS;
    }
    expect(runs).toHaveLength(6);
    expect(warnings).toEqual([]);
  });

  it("an id whose retention ends at this moment is past it", async () => {
    let now = 1_000;
    const store = memoryStore({ maxEntries: 1, now: () => now });
    const receiver = receiverOn(store);
    void store.complete("a", "o", { retentionMs: 10 });
    now += 10;
    await receiver.receive(await delivery({ id: "b" }));
    expect(warnings).toEqual([]);
    now += 10;
    await receiver.receive(await delivery({ id: "c" }));
    expect(warnings).toHaveLength(1);
  });

  it("a memory store warns the first 100 receivers and keeps no more", async () => {
    const store = memoryStore({ maxEntries: 1 });
    const warned: number[] = [];
    for (let receiver = 0; receiver < 101; receiver++) {
      const warn = () => warned.push(receiver);
      store.connectReceiver?.({ warn, noteForgets: () => undefined, dependencyTimeoutMs: 1 });
    }
    for (const key of ["first", "second"]) {
      await store.claim(key, "owner", { leaseMs: DAY_MS, retentionMs: DAY_MS });
      await store.complete(key, "owner", { retentionMs: DAY_MS });
    }
    expect(warned).toEqual(Array.from({ length: 100 }, (_, receiver) => receiver));
  });

  it("a memory store without a receiver forgets ids without a warning", async () => {
    const store = memoryStore({ maxEntries: 1 });
    for (const key of ["a", "b", "c"]) await store.complete(key, "o", { retentionMs: DAY_MS });
    const receiver = receiverOn(store);
    expect(warnings).toEqual([]);
    await receiver.receive(await delivery({ id: "d" }));
    expect(warnings).toHaveLength(1);
  });
});

describe("a receiver without the option store", () => {
  it.each([
    ["AWS_LAMBDA_FUNCTION_NAME", "AWS Lambda"],
    ["K_SERVICE", "Google Cloud Run"],
    ["KUBERNETES_SERVICE_HOST", "Kubernetes"],
    ["NODE_ENV", "production"],
  ])("a receiver without a store warns if %s is set", async (variable, platform) => {
    vi.stubEnv(variable, "production");
    const receiver = receiverOn(undefined);
    for (const id of ["a", "b"]) await receiver.receive(await delivery({ id }));
    expect(warnings).toEqual([
      expect.stringMatching(`this is ${platform}.*: a duplicate that reaches another process runs`),
    ]);
    expect(warnings[0]).toMatch(/Pass a store that all processes share, or memoryStore\(\)/);
    expect(warnings[0]).toContain("explain stores");
  });

  it("a receiver does not warn elsewhere, or with memoryStore()", () => {
    receiverOn(undefined);
    vi.stubEnv("K_SERVICE", "");
    receiverOn(undefined);
    vi.stubEnv("K_SERVICE", "x");
    vi.stubEnv("NODE_ENV", "production");
    receiverOn(memoryStore());
    expect(warnings).toEqual([]);
  });

  it.each<[string, unknown]>([
    ["has no process", undefined],
    ["has a process without environment", {}],
    [
      "denies access to the environment",
      {
        get env(): never {
          throw new Error("requires env access");
        },
        getBuiltinModule(): never {
          throw new Error("not allowed");
        },
      },
    ],
  ])("a receiver without a store works if the runtime %s", async (_what, process) => {
    const request = await delivery({ id: "a" });
    vi.stubGlobal("process", process);
    const receiver = receiverOn(undefined);
    vi.unstubAllGlobals();
    expect(await receiver.receive(request)).toMatchObject({ outcome: "handled" });
    expect(warnings).toEqual([]);
  });
});

it("a receiver without a store warns in a worker of node:cluster", async () => {
  const script = "test/support/cluster-worker-child.ts";
  const env = { ...process.env, NODE_OPTIONS: "", KUBERNETES_SERVICE_HOST: "" };
  const run = promisify(execFile)(process.execPath, ["--import", "tsx", script], {
    cwd: REPOSITORY,
    env,
  });
  expect((await run).stdout).toMatch(
    /this is a worker of node:cluster: a duplicate that reaches another process runs again/,
  );
});
