import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { verifySignature } from "../../src/index.js";
import type { Fixture } from "../../kit/fixtures/fixture.js";
import { resignedHeaders } from "../../kit/fixtures/resign.js";
import { signedDelivery, TEST_SECRET } from "../../kit/signed-delivery.js";
import { fixtures } from "../support/fixtures.js";

const secret = "whsec_of_another_endpoint";
const SENT_MS = 1_783_504_805_000;

const idFor = (id: string) => id;
const resigning = (nowMs: number) => ({
  secret,
  fixtureSecret: TEST_SECRET,
  now: () => nowMs,
  idFor,
});

async function fixture(body: Uint8Array, ageMs: number): Promise<Fixture> {
  const { headers } = await signedDelivery({
    type: "new_alarm",
    body,
    secret: TEST_SECRET,
    timestamp: SENT_MS / 1000,
  });
  return { name: "a", description: "", receivedAt: new Date(SENT_MS + ageMs), headers, body };
}

const agesMs = fc.integer({ min: -1_000_000, max: 1_000_000 });
const times = fc.integer({ min: 2_000_000, max: 4_000_000_000_000 });

describe("resigning", () => {
  it("a resigned fixture has a valid signature of the new secret and its old age to the second", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array(), agesMs, times, async (body, ageMs, nowMs) => {
        const one = await fixture(body, ageMs);
        const headers = await resignedHeaders(one, resigning(nowMs));
        expect(await verifySignature({ secret, headers, body })).toBe(true);
        const newAgeMs = nowMs - 1000 * Number(headers["X-Webhook-Timestamp"]);
        expect(Math.abs(newAgeMs - ageMs)).toBeLessThan(1000);
        // Rounded towards now, and not beyond it.
        expect(Math.abs(newAgeMs)).toBeLessThanOrEqual(Math.max(Math.abs(ageMs), 999));
        if (ageMs >= 0) expect(newAgeMs).toBeGreaterThanOrEqual(0);
        else expect(newAgeMs).toBeLessThanOrEqual(999);
        expect({ ...headers, "X-Webhook-Timestamp": "", "X-Webhook-Signature": "" }).toEqual({
          ...one.headers,
          "X-Webhook-Timestamp": "",
          "X-Webhook-Signature": "",
        });
      }),
    );
  });

  it.each([
    [300_000, true],
    [301_000, false],
    [-300_000, true],
    [-301_000, false],
  ])(
    "a resigned fixture with an age of %s ms is fresh: %s, at any fraction of a second",
    async (ageMs, isFresh) => {
      const one = await fixture(Uint8Array.of(1), ageMs);
      for (const ms of [0, 1, 999]) {
        const nowMs = 1_790_000_000_000 + ms;
        const headers = await resignedHeaders(one, resigning(nowMs));
        const newAgeMs = nowMs - 1000 * Number(headers["X-Webhook-Timestamp"]);
        expect(Math.abs(newAgeMs) <= 300_000).toBe(isFresh);
      }
    },
  );

  it("a resigned fixture keeps its header names, their order and the case of the hexadecimal digits", async () => {
    const body = Uint8Array.of(1, 2, 3);
    const one = await fixture(body, 0);
    const shouted = Object.fromEntries(
      Object.entries(one.headers).map(([name, value]) => [
        name.toUpperCase(),
        name === "X-Webhook-Signature" ? `v1=${String(value).slice(3).toUpperCase()}` : value,
      ]),
    );
    const headers = await resignedHeaders({ ...one, headers: shouted }, resigning(SENT_MS));
    expect(Object.keys(headers)).toEqual(Object.keys(shouted));
    expect(headers["X-WEBHOOK-SIGNATURE"]).toMatch(/^v1=[0-9A-F]{64}$/);
    expect(await verifySignature({ secret, headers, body })).toBe(true);
  });

  it("a resigned fixture has a valid timestamp, however far from now it was signed", async () => {
    const body = Uint8Array.of(1);
    for (const [receivedAt, expected] of [
      [new Date(SENT_MS + 8e15), "0"],
      [new Date(SENT_MS - 8e15), "999999999999"],
    ] as const) {
      const headers = await resignedHeaders(
        { ...(await fixture(body, 0)), receivedAt },
        resigning(SENT_MS),
      );
      expect(headers["X-Webhook-Timestamp"]).toBe(expected);
      expect(await verifySignature({ secret, headers, body })).toBe(true);
    }
  });

  it("a resigned fixture has the id that idFor returns", async () => {
    const one = await fixture(Uint8Array.of(1), 0);
    const headers = await resignedHeaders(one, {
      ...resigning(SENT_MS),
      idFor: (id) => `again-${id}`,
    });
    expect(headers["X-Webhook-Id"]).toBe(`again-${String(one.headers["X-Webhook-Id"])}`);
    expect(await verifySignature({ secret, headers, body: one.body })).toBe(true);
  });
});

describe("fixtures without a valid signature", () => {
  const refused = ["malformed", "unsigned", "signature_mismatch"];

  it.each(fixtures.filter(({ expect: { outcome } }) => refused.includes(outcome)))(
    "a fixture without a valid signature is sent unchanged: $name",
    async (published) => {
      const one = { ...published, receivedAt: new Date(published.receivedAt) };
      expect(await resignedHeaders(one, resigning(SENT_MS))).toEqual(published.headers);
    },
  );

  it("a fixture that does not match fixtureSecret is sent unchanged", async () => {
    const one = await fixture(Uint8Array.of(1), 0);
    const named = { ...resigning(SENT_MS), fixtureSecret: "whsec_test_another_secret" };
    expect(await resignedHeaders(one, named)).toEqual(one.headers);
  });
});
