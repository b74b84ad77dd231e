import type { CaseContext } from "./case-context.js";
import type { ConformanceRule } from "./conformance-rule.js";
import {
  ensureAcceptsGenuine,
  expectAccepted,
  expectNotAccepted,
  expectStillAccepts,
  type Named,
} from "./expectations.js";
import { KeptConnection } from "./kept-connection.js";
import { sendRawRequest } from "./raw-request.js";
import { ID, SIGNATURE, withBody } from "./request-changes.js";
import { sendGenuine, sendPastLimiter } from "./resending.js";
import { sampleText, type Delivery } from "./test-deliveries.js";
import { wrongSecret } from "./unverifiable-requests.js";

/** A rule about the connection. It needs a URL as target. */
function connectionRule(
  rule: Omit<ConformanceRule, "check" | "needs">,
  check: (context: CaseContext, connection: KeptConnection, url: URL) => Promise<void>,
): ConformanceRule {
  return {
    ...rule,
    needs: ["url"],
    async check(context) {
      const { url } = context.settings;
      if (url === undefined) return;
      await ensureAcceptsGenuine(context);
      const connection = new KeptConnection(url, context.settings);
      try {
        await check(context, connection, url);
      } finally {
        connection.close();
      }
    },
  };
}

const BIG = new Uint8Array(100_000).fill(0x20);

/** Bodies in pieces, interrupted uploads and reused connections must do no harm. */
export const transportRules: readonly ConformanceRule[] = [
  connectionRule(
    {
      id: "split_characters",
      level: "must",
      title: "a character that is split between two packets is read correctly",
      why: "A receiver that decodes each packet separately refuses an alarm whenever a packet ends inside a character such as å.",
      fix: "Collect all bytes first, then decode them.",
    },
    async (context, connection) => {
      const text = context.settings.types.includes("new_alarm")
        ? sampleText("new_alarm", { text: "å警🔔".repeat(20) })
        : sampleText("delete_my_data_event", { client_id: "å警🔔".repeat(20) });
      const delivery = await context.deliver({ body: text });
      const pieces = Array.from(delivery.body, (byte) => Uint8Array.of(byte));
      const answer = await sendGenuine(context, delivery, () =>
        context.sendBy(delivery, () => connection.send(delivery, pieces)),
      );
      await expectAccepted(context, "a body byte by byte", delivery.id, answer);
    },
  ),
  connectionRule(
    {
      id: "broken_upload",
      level: "must",
      title: "an interrupted upload is not handled and does no harm",
      why: "Half an alarm would be handled, or an unhandled error would end the process.",
      fix: "Wait for the end of the body, and handle its error event.",
    },
    async (context, connection) => {
      const delivery = await context.deliver();
      await connection.sendCutBody(delivery, 10);
      await expectStillAccepts(context, "an interrupted upload");
      const runs = await context.runsOf(delivery.id);
      if (runs !== undefined && runs > 0)
        throw context.failure("the interrupted upload was handled");
      await expectAccepted(
        context,
        "the complete delivery",
        delivery.id,
        await sendGenuine(context, delivery),
      );
    },
  ),
  connectionRule(
    {
      id: "keep_alive",
      level: "must",
      title: "after a refusal the connection accepts the next request or is closed",
      why: "An unread body is taken for the next request, so the alarm after it on the same connection fails.",
      fix: "Read a refused body to its end, or answer with `Connection: close`.",
    },
    async (context, connection) => {
      const [, forged] = await wrongSecret(context.deliver);
      const refused: readonly Named<Delivery>[] = [
        ["PUT", { ...withBody(forged, BIG), method: "PUT" }],
        ["a forged body", withBody(forged, BIG)],
        ["no webhook header", { ...withBody(forged, BIG), headers: [] }],
      ];
      for (const [name, request] of refused) {
        await context.sendBy(request, () => connection.send(request));
        const delivery = await context.deliver();
        const answer = await sendGenuine(context, delivery, () =>
          context.sendBy(delivery, () => connection.send(delivery)),
        );
        await expectAccepted(context, `a genuine delivery after ${name}`, delivery.id, answer);
      }
    },
  ),
  connectionRule(
    {
      id: "expect_continue",
      level: "should",
      title: "a client that waits for 100 Continue gets it",
      why: "Some HTTP clients send a big body only after 100 Continue, and give up without it.",
      fix: "Let the server answer `Expect: 100-continue`. Most servers do so by default.",
    },
    async (context, connection) => {
      const delivery = await context.deliver();
      const answer = await sendGenuine(context, delivery, () =>
        context.sendBy(delivery, () => connection.sendWithExpect(delivery)),
      );
      await expectAccepted(context, "Expect: 100-continue", delivery.id, answer);
    },
  ),
  connectionRule(
    {
      id: "invalid_header_bytes",
      level: "must",
      title: "bytes that are invalid in a header are refused and do no harm",
      why: "A server that changes them may turn them into another id or signature.",
      fix: "Use a server with a strict HTTP parser, and keep it up to date.",
    },
    async (context, _connection, url) => {
      for (const [name, change] of INVALID_LINES) {
        const delivery = await context.deliver();
        const lines = delivery.headers.map(([header, value]) => change(header, value));
        const answer = await sendPastLimiter(context, delivery, () =>
          context.sendBy(delivery, () => sendRawRequest(url, context.settings, delivery, lines)),
        );
        await expectNotAccepted(context, name, delivery.id, answer);
      }
      await expectStillAccepts(context, "invalid header bytes");
    },
  ),
];

type ChangeLine = (name: string, value: string) => string;

const INVALID_LINES: readonly (readonly [name: string, change: ChangeLine])[] = [
  ["a control character in the id", changing(ID, (value) => `${value}\u0001`)],
  ["a NUL in the id", changing(ID, (value) => `${value}\u0000`)],
  ["a byte beyond ASCII in the id", changing(ID, (value) => `${value}\u00e9`)],
  [
    "a signature folded over two lines",
    changing(SIGNATURE, (value) => `${value.slice(0, 20)}\r\n ${value.slice(20)}`),
  ],
];

function changing(changed: string, change: (value: string) => string): ChangeLine {
  return (name, value) => `${name}: ${name === changed ? change(value) : value}`;
}
