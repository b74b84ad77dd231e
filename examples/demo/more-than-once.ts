import { randomUUID } from "node:crypto";
import { EventEmitter, once } from "node:events";
import {
  createGatewayTwin,
  createScaledClock,
  sampleAlarm,
  TEST_SECRET,
  type TwinAttempt,
} from "identity-gateway-webhooks/testing";
import type { Ledger } from "./ledger.js";
import { DUPLICATE, HANDLED, IN_FLIGHT, type Answer, type Section } from "./row.js";
import type { DemoServer } from "./server.js";
import { rowsOf } from "./steps.js";

const HANDLER_FAILED: Answer = { status: 500, outcome: "handler_failed" };

/** Delivers an alarm again: after it was handled, while it is handled, and after its handler failed. */
export async function deliverMoreThanOnce(
  { url, work }: DemoServer,
  ledger: Ledger,
): Promise<Section> {
  const answers = new EventEmitter();
  const twin = createGatewayTwin({
    target: url,
    secret: TEST_SECRET,
    // The ten seconds before the second attempt take only ten milliseconds.
    clock: createScaledClock(1_000),
    onAttempt: () => answers.emit("answer"),
  });
  const alarm = { alarm: sampleAlarm() };

  const deliver = async (
    options: Parameters<typeof twin.deliver>[1],
  ): Promise<readonly TwinAttempt[]> => (await twin.deliver(alarm, options)).attempts;

  const twice = await deliver({ times: 2 });

  const repeated = randomUUID();
  // The handler holds one request until an answer arrives, which must be the answer to the other one.
  const answer = once(answers, "answer");
  work.set(repeated, () => answer);
  const atOnce = await deliver({ id: repeated, times: 2, concurrent: true });
  // Either request may be the first. If it is the second one, the gateway also repeats its first attempt.
  const requests = [...atOnce.slice(0, 2).sort(byStatus), ...(await deliver({ id: repeated }))];

  const failing = randomUUID();
  work.set(failing, () => {
    work.delete(failing);
    throw new Error("the demo's handler fails once");
  });
  const retried = [...(await deliver({ id: failing })), ...(await deliver({ id: failing }))];
  await twin.close();

  return {
    title: "Sent more than once, handled once",
    rows: [
      ...rowsOf(
        ledger,
        "Alarm delivered twice",
        [{ attempts: twice }],
        ["signed and sent", HANDLED],
        ["sent again", DUPLICATE],
      ),
      ...rowsOf(
        ledger,
        "Twice at the same time",
        [{ attempts: requests }],
        ["one of them", HANDLED],
        ["the other", IN_FLIGHT],
        ["sent again afterwards", DUPLICATE],
      ),
      ...rowsOf(
        ledger,
        "Alarm whose handler fails once",
        [{ attempts: retried }],
        ["signed and sent", HANDLER_FAILED],
        ["sent again by the gateway", HANDLED],
        ["sent once more", DUPLICATE],
      ),
    ],
  };
}

function byStatus(one: TwinAttempt, other: TwinAttempt): number {
  return (one.status ?? 0) - (other.status ?? 0);
}
