import { describe, expect, test, vi } from "vitest";
import { pause } from "../../src/common/timers.js";
import {
  createWebhookSecret,
  isOldSecretQuiet,
  secretMatches,
  proveSecret,
  registerWebhooks,
  rotateSecret,
  watchOldSecret,
} from "../../src/management/index.js";
import { pass } from "../support/fake-time.js";
import { desk, startLoad } from "../support/management/desk.js";

const REPLICAS = 4;
const quick = { inARow: 3 * REPLICAS, intervalMs: 1, types: ["new_alarm"] as const };

/** Four registered replicas. */
async function setUp() {
  const current = createWebhookSecret();
  const next = createWebhookSecret();
  const gateway = await desk.gateway();
  const replicas = await desk.replicas(REPLICAS, current);
  const { url } = replicas;
  const registered = await registerWebhooks(gateway.client, { ...quick, url, secret: current });
  expect(registered.result).toBe("registered");
  return { ...gateway, ...replicas, current, next };
}

describe("a proof", () => {
  test("holds when every instance has been seen with the secret", async () => {
    const { url, current } = await setUp();
    const instances = { instanceHeader: "x-instance", instances: REPLICAS };
    const proof = await proveSecret(url, [current], { ...quick, inARow: 1, ...instances });
    expect(proof.result).toBe("accepted");
    const all = ["replica-0", "replica-1", "replica-2", "replica-3"];
    expect(proof.instances.toSorted()).toEqual(all);
    expect(proof.inARow).toBeGreaterThanOrEqual(REPLICAS);
    const fifth = { ...quick, ...instances, instances: 5, waitMs: 50 };
    expect((await proveSecret(url, [current], fifth)).result).toBe("not_accepted");
  });

  const ENDPOINT = "https://partner.example/webhooks";
  const refusal = (code: string) =>
    Response.json({ error: { code } }, { status: 409, headers: { "x-instance": "replica-0" } });

  test("starts its row again after a probe that was refused", async () => {
    const rows: number[] = [];
    let probes = 0;
    const proof = await proveSecret(ENDPOINT, ["the-secret-of-a-test"], {
      ...quick,
      inARow: 3,
      // The third probe reaches a replica without the secret, and the last one has a made-up secret.
      fetch: () =>
        Promise.resolve(refusal([3, 7].includes(++probes) ? "SIGNATURE_MISMATCH" : "STALE")),
      onProbe: ({ inARow }) => rows.push(inARow),
    });
    expect(proof).toMatchObject({ result: "accepted", inARow: 3, probes: 7 });
    expect(rows).toEqual([1, 2, 2, 1, 2, 3]);
  });

  test("pauses after each row while an instance is missing", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const abort = new AbortController();
    let probes = 0;
    const proving = proveSecret(ENDPOINT, ["the-secret-of-a-test"], {
      ...quick,
      inARow: 3,
      intervalMs: 1_000,
      waitMs: 1_500,
      instanceHeader: "x-instance",
      instances: 2,
      signal: abort.signal,
      fetch: () => {
        if (++probes > 100) abort.abort();
        return Promise.resolve(refusal("STALE"));
      },
    });
    await pass(999);
    expect(probes).toBe(3);
    await pass(1);
    expect(probes).toBe(6);
    await pass(1_000);
    // The last row ends at its first probe, as the time is over.
    expect(await proving).toMatchObject({ result: "not_accepted", probes: 7 });
  });

  test("fails while one of four replicas lacks the secret, and names it", async () => {
    const { url, current, next, secrets } = await setUp();
    for (const list of secrets.slice(1)) list.unshift(next);
    const options = { ...quick, instanceHeader: "x-instance", waitMs: 300 };
    const proof = await proveSecret(url, [next, current], options);
    expect(proof).toMatchObject({
      result: "not_accepted",
      refusal: { result: "refused", instance: "replica-0", outcome: "signature_mismatch" },
    });
    expect(JSON.stringify(proof)).not.toContain(next);
  });

  test("asks a replica by its own URL too", async () => {
    const { url, current, next, secrets, metrics } = await setUp();
    for (const list of secrets.slice(1)) list.unshift(next);
    const replicaUrls = metrics.map((one) => new URL("/own", one).href);
    const options = { ...quick, inARow: 1, waitMs: 0, replicaUrls };
    const refused = { result: "not_accepted", refusal: { result: "refused" } };
    expect(await proveSecret(url, [next], options)).toMatchObject(refused);
    expect((await proveSecret(url, [current], options)).result).toBe("accepted");
  });

  test.each([
    ["is not answered", () => Promise.reject(new Error("refused")), "unreachable"],
    ["is answered by a proxy", () => new Response("<html>", { status: 503 }), "unclear"],
  ])("does not hold when the made-up secret %s", async (_what, answer, result) => {
    const { url, current } = await setUp();
    /** Proves it with a made-up secret at the third probe, to which this is the answer. */
    const prove = (waitMs: number) => {
      let probes = 0;
      const thirdAnswered = async (to: string, init: RequestInit) =>
        ++probes === 3 ? answer() : fetch(to, init);
      return proveSecret(url, [current], { ...quick, inARow: 2, waitMs, fetch: thirdAnswered });
    };
    const refused = { result: "not_accepted", probes: 3, refusal: { result } };
    expect(await prove(0)).toMatchObject(refused);
    // The next row holds if the time is not over.
    expect(await prove(60_000)).toMatchObject({ result: "accepted", probes: 6 });
  });

  test("does not hold when its signal aborts during the made-up secret", async () => {
    const { url, current } = await setUp();
    const abort = new AbortController();
    let probes = 0;
    const aborting = async (to: string, init: RequestInit) => {
      if (++probes > 2) abort.abort();
      return fetch(to, init);
    };
    const options = { ...quick, inARow: 2, signal: abort.signal, fetch: aborting };
    expect((await proveSecret(url, [current], options)).result).toBe("aborted");
  });

  test("ends when its signal aborts", async () => {
    const { url, next } = await setUp();
    const abort = new AbortController();
    const options = { ...quick, signal: abort.signal, intervalMs: 60_000 };
    const proving = proveSecret(url, [next], options);
    setTimeout(() => abort.abort(), 50);
    expect((await proving).result).toBe("aborted");
  });

  test.each([
    [{ inARow: 0 }],
    [{ instances: 4 }],
    [{ types: [] }],
    [{ types: ["alarm"] }],
    [{ waitMs: -1 }],
    [{ instanceHeader: "x y" }],
  ])("refuses %j", async (options) => {
    const proving = proveSecret("http://127.0.0.1:9/", ["a-secret"], options as object);
    await expect(proving).rejects.toMatchObject({ name: "ConfigurationError" });
  });
});

describe("a rotation over four replicas under load", () => {
  test("loses and refuses no delivery, although one replica is late", async () => {
    const { api, client, url, secrets, current, next, handled, reports } = await setUp();
    const load = startLoad(api);
    const steps: string[] = [];
    const rotating = rotateSecret(client, {
      ...quick,
      url,
      current,
      next,
      // The load takes turns at the balancer too, so the probes alone may miss a replica.
      instanceHeader: "x-instance",
      instances: REPLICAS,
      onSwitch: () => void steps.push("switch"),
    });
    for (const [at, list] of secrets.entries()) {
      // The last replica gets its secrets long after the others.
      await pause(at === REPLICAS - 1 ? 1_000 : 50);
      expect(steps).toEqual([]);
      list.unshift(next);
    }
    expect(await rotating).toMatchObject({ result: "switched", webhooks: [{ has_secret: true }] });
    const { length } = handled();
    await expect.poll(() => handled().length).toBeGreaterThan(length + 20);
    // The old secret is removed.
    for (const list of secrets) list.pop();
    await expect.poll(() => handled().length).toBeGreaterThan(length + 60);
    const deliveries = await load.stop();

    expect(deliveries.length).toBeGreaterThan(50);
    expect(deliveries.filter(({ end }) => end !== "acknowledged")).toEqual([]);
    expect(deliveries.filter(({ attempts }) => attempts.length > 1)).toEqual([]);
    expect(handled().toSorted()).toEqual(deliveries.map(({ id }) => id).toSorted());
    const newest = reports().filter((one) => one.outcome === "handled" && one.secretIndex === 0);
    expect(newest.length).toBeGreaterThan(60);
  });

  test("changes nothing at the gateway when a replica never gets the secret, and can be repeated", async () => {
    const { api, client, url, secrets, current, next } = await setUp();
    for (const list of secrets.slice(1)) list.unshift(next);
    const options = { ...quick, url, current, next };
    const first = await rotateSecret(client, { ...options, waitMs: 100 });
    expect(first).toMatchObject({ result: "not_accepted", proof: { refusal: {} } });
    const load = startLoad(api);
    await pause(100);
    expect((await load.stop()).every(({ attempts }) => attempts.length === 1)).toBe(true);
    secrets[0]?.unshift(next);
    for (let run = 0; run < 2; run++) {
      expect((await rotateSecret(client, options)).result).toBe("switched");
    }
  });

  test("refuses to switch when the current secret is missing at a replica, or is the next one", async () => {
    const { client, url, secrets, current, next } = await setUp();
    for (const list of secrets) list.splice(0, 1, next);
    const options = { ...quick, url, current, next, waitMs: 0 };
    expect((await rotateSecret(client, options)).result).toBe("not_accepted");
    const same = rotateSecret(client, { ...options, current: next });
    await expect(same).rejects.toThrow("another secret");
    const elsewhere = { ...options, url: "http://127.0.0.1:9/" };
    await expect(rotateSecret(client, elsewhere)).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("the watch of the old secret", () => {
  const hours = (count: number) => count * 3_600_000;

  test("says that it is quiet after 72 hours without a match at any source", () => {
    let state = watchOldSecret(undefined, [3, 0], 0);
    for (let hour = 1; hour <= 72; hour++) {
      expect(isOldSecretQuiet(state, hours(hour - 1))).toBe(false);
      state = watchOldSecret(state, [3, 0], hours(hour));
    }
    expect(isOldSecretQuiet(state, hours(72))).toBe(true);
    expect(isOldSecretQuiet(state, hours(1), hours(1))).toBe(true);
  });

  test.each([
    ["a match", [4, 0]],
    ["a source that started again and has a match", [1, 0]],
    ["a source that started again, since its earlier matches are lost", [0, 0]],
    ["a source that cannot be asked", [null, 0]],
    ["another number of sources", [3]],
  ])("starts again with %s", (_what, matches) => {
    const state = watchOldSecret(watchOldSecret(undefined, [3, 0], 0), matches, hours(1));
    expect(state.quietSinceMs).toBe(hours(1));
  });

  test("is never quiet while a source cannot be asked, however often it is tried", () => {
    let state = watchOldSecret(undefined, [3, null], 0);
    for (let hour = 1; hour <= 100; hour++) state = watchOldSecret(state, [3, null], hours(hour));
    expect(state.quietSinceMs).toBe(hours(100));
    expect(isOldSecretQuiet(state, hours(100))).toBe(false);
  });

  test("does not count hours in which no one looked, or a clock that went back", () => {
    const first = watchOldSecret(undefined, [5], hours(1));
    expect(watchOldSecret(first, [5], hours(3)).quietSinceMs).toBe(hours(1));
    const late = watchOldSecret(first, [5], hours(74));
    expect([late.quietSinceMs, isOldSecretQuiet(late, hours(74))]).toEqual([hours(74), false]);
    expect(watchOldSecret(first, [5], 0).quietSinceMs).toBe(0);
    const earlier = { matches: [5], quietSinceMs: 0 } as unknown as typeof first;
    expect(watchOldSecret(earlier, [5], hours(74)).quietSinceMs).toBe(hours(74));
  });

  test("reads the metrics of a receiver", async () => {
    const { deliver, metrics, secrets, url, current, next } = await setUp();
    for (const list of secrets) list.unshift(next);
    const expectMatches = async (count: number) => {
      const texts = await Promise.all(metrics.map(async (one) => (await fetch(one)).text()));
      // Null before the first match.
      expect(texts.map((text) => secretMatches(text)?.old ?? 0)).toEqual(
        Array(REPLICAS).fill(count),
      );
    };
    await proveSecret(url, [next], { ...quick, inARow: REPLICAS });
    await expectMatches(0);
    // Probes do not count, or the old secret would never be quiet.
    await proveSecret(url, [current], { ...quick, inARow: REPLICAS });
    await expectMatches(0);
    for (let sent = 0; sent < REPLICAS; sent++) await deliver();
    await expectMatches(1);
    expect(secretMatches("other_metric 1\n")).toBeNull();
  });
});
