import { inspect } from "node:util";
import { beforeEach, describe, expect, it, vi, type MockInstance } from "vitest";
import {
  AlarmPayloadError,
  createWebhookReceiver,
  memoryStore,
  parseAlarmPayload,
  parseGatewayTime,
  signDelivery,
  verifySignature,
  type DeliveryStore,
  type LogDetails,
  type WebhookOutcome,
} from "../../src/index.js";
import { CANARIES, canariesIn, shownOf } from "../support/canaries.js";
import { rejects, throwing } from "../support/faults.js";
import {
  SCENES,
  canaryDelivery,
  collect,
  forged,
  handling,
  receiving,
} from "../support/outcome-scenes.js";
import { rejectionOf, thrownBy } from "../support/thrown.js";

const LEVELS = ["log", "info", "debug", "warn", "error", "trace"] as const;
const { secret, oldSecret, nationalId, email, iban } = CANARIES;

let consoleSpies: MockInstance[] = [];

/** The hexadecimal digits of every signature that a scene may have sent. */
async function signaturesOf(): Promise<string[]> {
  const sent = [await canaryDelivery(), await forged(), await canaryDelivery({ body: "" })];
  return sent.map(({ headers }) => headers["x-webhook-signature"].slice("v1=".length));
}

beforeEach(() => {
  consoleSpies = LEVELS.map((level) =>
    vi.spyOn(console, level).mockImplementation(() => undefined),
  );
});

describe("canaries", () => {
  /** Everything that has left a receiver has no canary. */
  async function expectNone(...values: readonly unknown[]) {
    expect(canariesIn(shownOf(...values), await signaturesOf())).toEqual([]);
  }

  it.each(Object.keys(SCENES) as WebhookOutcome[])(
    "no canary leaves with outcome %s, also by the console",
    async (outcome) => {
      const scene = SCENES[outcome];
      const { response, lines, reports, health, spy: store } = await collect(scene);
      expect(response.outcome).toBe(outcome);
      expect(reports.some((report) => report.outcome === outcome)).toBe(true);
      const { body, headers } = response;
      await expectNone(response, body, headers, lines, reports, health, store.calls);
      for (const spy of consoleSpies) expect(spy).not.toHaveBeenCalled();
      await collect({ ...scene, options: { ...scene.options, logger: console } });
      await expectNone(...consoleSpies.flatMap((spy) => spy.mock.calls as unknown[][]));
    },
  );

  it("no canary leaves the receiver if the store fails after the handler", async () => {
    let isDown = true;
    const fail = () => (isDown ? rejects() : Promise.resolve());
    const store: DeliveryStore = { ...memoryStore(), complete: fail, release: fail };
    const done = await collect({ options: { store }, play: receiving(canaryDelivery) });
    const failed = await collect({
      options: { store, handlers: { new_alarm: throwing(new Error("database is away")) } },
      play: receiving(() => canaryDelivery({ id: "another" })),
    });
    expect([done.response.status, failed.response.status]).toEqual([200, 500]);
    // Ends the retries, whose timers would outlive this file.
    isDown = false;
    // Each has one line about the field that is not documented.
    expect(done.lines).toHaveLength(2);
    expect(failed.lines).toHaveLength(3);
    await expectNone(done.lines, done.reports, failed.lines, failed.reports);
  });

  it.each(["malformed", "unsigned", "signature_mismatch", "stale", "type_mismatch"] as const)(
    "no canary leaves the receiver with outcome %s and unverifiable: reject",
    async (outcome) => {
      const options = { unverifiable: "reject" } as const;
      const { play } = SCENES[outcome];
      const { response, lines, reports } = await collect({ options, play });
      expect([400, 401]).toContain(response.status);
      await expectNone(response, lines, reports);
    },
  );

  it("no canary leaves the receiver with unsigned deliveries", async () => {
    const options = { secret: undefined, acceptUnsignedDeliveries: true } as const;
    const { response, lines, reports } = await collect({
      options,
      play: receiving(canaryDelivery),
    });
    expect(response.outcome).toBe("handled");
    await expectNone(response, lines, reports);
  });

  it("the canary search finds each canary in an error's hidden property", async () => {
    for (const canary of Object.values(CANARIES)) {
      const error = new Error("outer", {
        cause: Object.defineProperty({}, "hidden", { value: canary }),
      });
      expect(canariesIn(shownOf({ details: [error] }))).toContain(String(canary));
    }
    const [signature = ""] = await signaturesOf();
    expect(canariesIn(signature.toUpperCase(), [signature])).toEqual([signature]);
  });
});

it("a handler's error reaches onOutcome and the logger as the same object, and appears nowhere else", async () => {
  const error = new Error(`no account for ${CANARIES.nationalId}`);
  const { response, lines, reports } = await collect(handling(throwing(error)));
  expect(canariesIn(shownOf(response, response.body, response.headers))).toEqual([]);
  expect(reports[0]?.error).toBe(error);
  const [line] = lines.filter(({ level }) => level === "error");
  expect((line?.details as LogDetails | undefined)?.err).toBe(error);
  const withoutError = lines.map(({ message, details }) => ({
    message,
    details: { ...(details as LogDetails), err: undefined },
  }));
  expect(canariesIn(shownOf(withoutError))).toEqual([]);
});

const handlers = { new_alarm: () => undefined };
const receiverWithSecret = (given: unknown) =>
  createWebhookReceiver({ secret: given as string, handlers });

const schema = (issues: readonly { message: string }[] | Promise<never>) => ({
  "~standard": {
    version: 1 as const,
    vendor: "test",
    validate: () => (issues instanceof Promise ? issues : { issues }),
  },
});

it.each<[string, () => unknown]>([
  ["a payload that is not JSON", () => parseAlarmPayload({ payload: `{ssn: ${nationalId}}` })],
  ["a truncated payload", () => parseAlarmPayload({ payload: `{"ssn": "${nationalId}` })],
  ["a payload of white space", () => parseAlarmPayload({ payload: " " })],
  [
    "a payload that the schema refuses",
    () => parseAlarmPayload({ payload: JSON.stringify({ email }) }, schema([{ message: email }])),
  ],
  [
    "an asynchronous schema",
    () => parseAlarmPayload({ payload: `"${iban}"` }, schema(Promise.reject(new Error(iban)))),
  ],
])("the printed error for %s quotes no personal data", (_why, run) => {
  const error = thrownBy(run);
  expect(error).toBeInstanceOf(AlarmPayloadError);
  const shown = [String(error), JSON.stringify(error), inspect(error, { depth: 20 })];
  expect(canariesIn(shown.join("\n"))).toEqual([]);
  expect((error as Error).cause).toBeUndefined();
});

it.each<[string, () => unknown]>([
  ["a time", () => parseGatewayTime(nationalId)],
  ["a date that does not exist", () => parseGatewayTime("1900-13-01 09:09:88")],
  ["a secret with white space", () => receiverWithSecret(`${secret}\n`)],
  ["a list with a secret with white space", () => receiverWithSecret([secret, ` ${oldSecret}`])],
  ["a list with a number", () => receiverWithSecret([secret, 7])],
  ["a secret for one type only", () => receiverWithSecret({ new_alarm: secret })],
  [
    "a secret for an unknown type",
    () => receiverWithSecret({ new_alarm: secret, delete_my_data_event: secret, other: oldSecret }),
  ],
  [
    "a secret together with acceptUnsignedDeliveries",
    () => createWebhookReceiver({ secret, acceptUnsignedDeliveries: true, handlers } as never),
  ],
  ["signing an invalid id", () => signDelivery({ secret, id: email, timestamp: 0, body: "" })],
  [
    "signing with an invalid secret",
    () => signDelivery({ secret: ` ${secret}`, id: "1", timestamp: 0, body: nationalId }),
  ],
  [
    "verifying with an invalid secret",
    () => verifySignature({ secret: [secret, `${oldSecret} `], headers: {}, body: nationalId }),
  ],
])("the error for %s holds no personal data and no secret", async (_why, run) => {
  const error = await rejectionOf(run);
  expect(error).toBeInstanceOf(Error);
  expect(canariesIn(shownOf(error))).toEqual([]);
});
