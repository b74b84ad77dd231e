import type { CaseContext } from "./case-context.js";
import type { ConformanceRule } from "./conformance-rule.js";
import {
  ensureAcceptsGenuine,
  expectAccepted,
  expectNotAccepted,
  expectStillAccepts,
} from "./expectations.js";
import { sendRawRequest } from "./raw-request.js";
import type { ReceiverAnswer } from "./receiver-answer.js";
import { ID, SIGNATURE } from "./request-changes.js";
import { sendGenuine, sendPastLimiter } from "./resending.js";
import type { Delivery } from "./test-deliveries.js";

type ChangeLine = (name: string, value: string) => string;

const INVALID_LINES: readonly (readonly [name: string, change: ChangeLine])[] = [
  ["a control character in the id", changing(ID, (value) => `${value}\u0001`)],
  ["a byte beyond ASCII in the id", changing(ID, (value) => `${value}\u00e9`)],
  [
    "a signature folded over two lines",
    changing(SIGNATURE, (value) => `${value.slice(0, 20)}\r\n ${value.slice(20)}`),
  ],
];

const addNul = changing(ID, (value) => `${value}\u0000`);

/** Header lines that no HTTP client would send must do no harm. */
export const invalidHeaderRule: ConformanceRule = {
  id: "invalid_header_bytes",
  level: "must",
  title: "bytes that are invalid in a header are refused and do no harm",
  why: "A server that changes them may turn them into another id or signature.",
  fix: "Use a server with a strict HTTP parser, and keep it up to date.",
  needs: ["url"],
  async check(context) {
    const { url } = context.settings;
    if (url === undefined) return;
    await ensureAcceptsGenuine(context);
    for (const [name, change] of INVALID_LINES) {
      const delivery = await context.deliver();
      const answer = await sendChanged(context, url, delivery, change);
      await expectNotAccepted(context, name, delivery.id, answer);
    }
    await expectNulDoesNoHarm(context, url);
    await expectStillAccepts(context, "invalid header bytes");
  },
};

/** Some servers end the id at a NUL. That is harmless, since the rest is the id that was signed. */
async function expectNulDoesNoHarm(context: CaseContext, url: URL): Promise<void> {
  const delivery = await context.deliver();
  await expectAccepted(context, "a delivery", delivery.id, await sendGenuine(context, delivery));
  const answer = await sendChanged(context, url, delivery, addNul);
  const runs = await context.runsOf(delivery.id);
  const runsWithNul = await context.runsOf(`${delivery.id}\u0000`);
  if (runs === undefined || runsWithNul === undefined) {
    if (answer.result === "acknowledged") context.leaveUnjudged("handled");
  } else if (runs + runsWithNul !== 1) {
    throw context.failure(
      "id_changed",
      `a NUL after the id: answered ${answer.text}, and the delivery was handled again`,
    );
  }
}

function sendChanged(
  context: CaseContext,
  url: URL,
  delivery: Delivery,
  change: ChangeLine,
): Promise<ReceiverAnswer> {
  const lines = delivery.headers.map(([header, value]) => change(header, value));
  return sendPastLimiter(context, delivery, () =>
    context.sendBy(delivery, () => sendRawRequest(url, context.settings, delivery, lines)),
  );
}

function changing(changed: string, change: (value: string) => string): ChangeLine {
  return (name, value) => `${name}: ${name === changed ? change(value) : value}`;
}
