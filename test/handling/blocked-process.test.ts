import { beforeEach, expect, test, vi } from "vitest";
import { memoryStore, type DeliveryStore } from "../../src/index.js";
import { observedAlarmReceiver } from "../support/alarm-receiver.js";
import { linesWith } from "../support/collector.js";
import { delivery } from "../support/deliveries.js";

beforeEach(() => vi.useFakeTimers());

const LEASE_MS = 3_000;

/** A handler that blocks the process: its clock goes on, and no timer is called. */
function blocking(ms: number, returned?: () => unknown) {
  const handler = () => {
    const later = performance.now() + ms;
    vi.spyOn(performance, "now").mockImplementation(() => later);
    return returned?.();
  };
  const [synchronous, inner] = [memoryStore(), memoryStore()];
  const claim: DeliveryStore["claim"] = async (...call) => inner.claim(...call);
  return [synchronous, { ...inner, claim }].map((store) =>
    observedAlarmReceiver(handler, { store, leaseMs: LEASE_MS }),
  );
}

test.each<[string, () => unknown, string]>([
  ["no promise", () => undefined, "handled"],
  ["a promise", () => Promise.resolve(), "handled"],
  [
    "an error",
    () => {
      throw new Error("failed");
    },
    "handler_failed",
  ],
])(
  "a handler that blocks the process past its lease and ends with %s leaves a line that it may have run twice",
  async (_what, returned, outcome) => {
    for (const { receiver, lines } of blocking(LEASE_MS, returned)) {
      expect(await receiver.receive(await delivery({ id: "a" }))).toMatchObject({ outcome });
      const said = linesWith(lines, `${outcome}: it may have run twice`);
      expect(said).toMatchObject([{ level: "warn", details: { id: "a", type: "new_alarm" } }]);
      vi.restoreAllMocks();
    }
  },
);

test("a handler that blocks the process for less than its lease leaves no line", async () => {
  for (const { receiver, lines } of blocking(LEASE_MS - 1)) {
    expect(await receiver.receive(await delivery())).toMatchObject({ outcome: "handled" });
    expect(lines).toEqual([]);
    vi.restoreAllMocks();
  }
});
