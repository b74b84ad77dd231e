import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { verifySignature, type Alarm } from "../../src/index.js";
import { loadFixtures } from "../../kit/fixtures/load-fixtures.js";
import { NOW_MS, NOW_SECONDS, TEST_SECRET, alarm, eventDelivery } from "../support/deliveries.js";
import {
  PARTNERS_SECRET,
  partnersDelivery,
  recordedReceiver,
} from "../support/testing/recorded-receiver.js";
import { temporaryFolder } from "../support/temporary-folder.js";

const parent = temporaryFolder();
let directory: string;

beforeEach(() => {
  directory = parent.at("made", "when needed");
});

describe("recordFixtures", () => {
  test("recordFixtures writes an authentic delivery as a fixture signed with the test secret", async () => {
    const { recorder, receiver, files, refusals } = recordedReceiver({ directory });
    const { headers, body } = await partnersDelivery();
    const more = { ...headers, authorization: "Bearer 1", cookie: "a=b", "x-forwarded-for": "1.2" };
    await receiver.receive({ headers: more, body });
    await recorder.flush();

    expect(refusals).toEqual([]);
    expect(files).toEqual([join(directory, "000001-alarm-email-hacked.json")]);
    const [fixture] = await loadFixtures(directory);
    expect(fixture).toMatchObject({
      description: "Recorded email_hacked, answered handled 200",
      receivedAt: new Date(NOW_MS),
      expect: { outcome: "handled", status: 200 },
    });
    expect(Object.keys(fixture?.headers ?? {})).toEqual([
      "Content-Type",
      "X-Webhook-Type",
      "X-Webhook-Id",
      "X-Webhook-Timestamp",
      "X-Webhook-Signature",
    ]);
    expect(fixture?.headers["X-Webhook-Id"]).not.toBe(headers["x-webhook-id"]);
    expect(fixture?.headers["X-Webhook-Timestamp"]).toBe(String(NOW_SECONDS));
    const request = { headers: fixture?.headers ?? {}, body: fixture?.body ?? "" };
    expect(await verifySignature({ secret: TEST_SECRET, ...request })).toBe(true);
    expect(await verifySignature({ secret: PARTNERS_SECRET, ...request })).toBe(false);
    expect(await readdir(directory)).toHaveLength(1);
  });

  test("recordFixtures gives equal values equal placeholders, and different ones different ones that fit the same columns", async () => {
    const { recorder, receiver } = recordedReceiver({ directory });
    const records = [1001, 1002, 1003, 1001, 2_000_000_001, 2_000_000_002].map((id) =>
      alarm({ id, account_id: 4242, original_event_id: `brdb-${String(id).slice(-1)}` }),
    );
    for (const [at, record] of records.entries()) {
      const body = JSON.stringify({ alarm: record });
      await receiver.receive(await partnersDelivery({ id: `id-${at}`, body }));
    }
    await recorder.flush();
    const recorded = (await loadFixtures(directory)).map(
      ({ body }) => (JSON.parse(Buffer.from(body).toString()) as { alarm: Alarm }).alarm,
    );
    expect(recorded.map(({ id }) => id)).toEqual([
      9999, 9997, 9996, 9999, 2_147_483_647, 2_147_483_646,
    ]);
    expect(recorded.map(({ account_id }) => account_id)).toEqual(Array(6).fill(9998));
    expect(recorded.map(({ original_event_id }) => original_event_id)).toEqual([
      "xxxxxx",
      "xxxxxa",
      "xxxxxb",
      "xxxxxx",
      "xxxxxx",
      "xxxxxa",
    ]);
  });

  test("recordFixtures names files after documented values, in the order of the answers", async () => {
    const { recorder, receiver, files } = recordedReceiver({ directory });
    const body = JSON.stringify({ alarm: alarm({ event_type: "BureauCreditAEnquiry" }) });
    await receiver.receive(await partnersDelivery({ id: "a", body }));
    await receiver.receive(
      await eventDelivery("DATA_DELETED", { id: "b", secret: PARTNERS_SECRET }),
    );
    await receiver.receive(await partnersDelivery({ id: "c", type: "from_Anna", body: "{}" }));
    await receiver.receive(
      await partnersDelivery({
        id: "d",
        body: JSON.stringify({ alarm: alarm({ event_type: "of_Anna" }) }),
      }),
    );
    await receiver.receive(await partnersDelivery({ id: "e", body: "Anna" }));
    await recorder.flush();
    expect(files.map((file) => file.slice(directory.length + 1))).toEqual([
      "000001-alarm-bureau-credit-a-enquiry.json",
      "000002-event-data-deleted.json",
      "000003-unknown-type.json",
      "000004-alarm.json",
      "000005-alarm.json",
    ]);
    const fixtures = await loadFixtures(directory);
    expect(fixtures[2]?.headers["X-Webhook-Type"]).toBe("unknown_type");
    expect(fixtures[1]?.description).toContain("on its own it is handled, so nothing is expected");
    expect(fixtures[1]?.expect).toBeUndefined();
    expect(fixtures[4]?.expect).toEqual({ outcome: "unrecognized", status: 503 });
  });

  test("recordFixtures copies the body before it returns, so that the buffer can be reused", async () => {
    const { recorder, receiver } = recordedReceiver({ directory });
    const text = JSON.stringify({ alarm: alarm({ text: "four" }) });
    const bytes = Buffer.from(text);
    await receiver.receive(await partnersDelivery({ body: bytes }));
    bytes.fill(0x20);
    await recorder.flush();
    const [fixture] = await loadFixtures(directory);
    expect(Buffer.from(fixture?.body ?? []).toString()).toContain('"text":"xxxx"');
  });

  test("recordFixtures gives failed attempts other ids than the handled one", async () => {
    let isFailing = true;
    const handlers = {
      new_alarm: () => {
        if (isFailing) throw new Error("not yet");
      },
    };
    const { recorder, receiver } = recordedReceiver({ directory }, { handlers });
    const request = await partnersDelivery();
    await receiver.receive(request);
    isFailing = false;
    await receiver.receive(request);
    await receiver.receive(request);
    await recordedReceiver({ directory }, { onAuthenticDelivery: recorder }).receiver.receive(
      request,
    );
    await recorder.flush();
    const fixtures = await loadFixtures(directory);
    const [failed, handled, duplicate, elsewhere] = fixtures.map(({ headers }) =>
      String(headers["X-Webhook-Id"]),
    );
    expect(duplicate).toBe(handled);
    expect(new Set([failed, handled, elsewhere]).size).toBe(3);
    expect(fixtures.map(({ expect: expected }) => expected?.outcome)).toEqual([
      undefined,
      "handled",
      undefined,
      "handled",
    ]);
  });

  test("recordFixtures signs unsigned deliveries and leaves out an undocumented content type", async () => {
    const { recorder, receiver } = recordedReceiver(
      { directory },
      {
        secret: undefined,
        acceptUnsignedDeliveries: true,
      },
    );
    const { headers, body } = await partnersDelivery();
    const unsigned = { ...headers, "x-webhook-signature": undefined, "content-type": "text/anna" };
    await receiver.receive({ headers: unsigned, body });
    await receiver.receive({ headers: new Headers({ ...headers, "x-webhook-id": "b" }), body });
    await recorder.flush();
    const [first, second] = await loadFixtures(directory);
    expect(first?.headers).not.toHaveProperty("Content-Type");
    expect(first?.expect).toEqual({ outcome: "handled", status: 200 });
    expect(second?.headers["Content-Type"]).toBe("application/json");
  });
});
