import type { ConformanceRule } from "./conformance-rule.js";
import { sampleText, type Delivery } from "./deliveries.js";
import {
  ensureNotTaken,
  ensureTakesGenuine,
  expectSurvived,
  expectTaken,
  type Named,
} from "./expectations.js";
import { openHttpConnection, type HttpConnection } from "./http-connection.js";
import { sendRawHead } from "./raw-bytes.js";
import { ID, SIGNATURE, withBody } from "./request-changes.js";
import { wrongSecret } from "./suspect-requests.js";
import { sendGenuine, sendPastLimiter } from "./send-genuine.js";
import type { Trial } from "./trial.js";

/** About a connection: judged of a URL alone. */
function connected(
  rule: Omit<ConformanceRule, "judge" | "needs">,
  judge: (trial: Trial, connection: HttpConnection, url: URL) => Promise<void>,
): ConformanceRule {
  return {
    ...rule,
    needs: ["url"],
    async judge(trial) {
      const { url } = trial.settings;
      if (url === undefined) return;
      await ensureTakesGenuine(trial);
      const connection = openHttpConnection(url, trial.settings);
      try {
        await judge(trial, connection, url);
      } finally {
        connection.close();
      }
    },
  };
}

const BIG = new Uint8Array(100_000).fill(0x20);

/** Bodies in pieces, uploads that break off, and connections that are used again. */
export const transportRules: readonly ConformanceRule[] = [
  connected(
    {
      id: "split_characters",
      level: "must",
      title: "a character that comes in two pieces is put together again",
      why: "A receiver that decodes each piece by itself refuses alarms by chance: those with an å at the wrong place.",
      mend: "Collect bytes, and decode them when all have come.",
    },
    async (trial, connection) => {
      const text = trial.settings.types.includes("new_alarm")
        ? sampleText("new_alarm", { text: "å警🔔".repeat(20) })
        : sampleText("delete_my_data_event", { client_id: "å警🔔".repeat(20) });
      const delivery = await trial.deliver({ body: text });
      const pieces = Array.from(delivery.body, (byte) => Uint8Array.of(byte));
      const reply = await sendGenuine(trial, delivery, () =>
        trial.sendBy(delivery, () => connection.send(delivery, pieces)),
      );
      await expectTaken(trial, "a body byte by byte", delivery.id, reply);
    },
  ),
  connected(
    {
      id: "broken_upload",
      level: "must",
      title: "an upload that breaks off is not handled, and does no harm",
      why: "Half an alarm is handled, or the process ends over it.",
      mend: "Wait for the end of the body, and listen for its errors.",
    },
    async (trial, connection) => {
      const delivery = await trial.deliver();
      await connection.cut(delivery, 10);
      await expectSurvived(trial, "an upload that broke off");
      const runs = await trial.runsOf(delivery.id);
      if (runs !== undefined && runs > 0) throw trial.failure("the broken upload was handled");
      await expectTaken(trial, "the whole of it", delivery.id, await sendGenuine(trial, delivery));
    },
  ),
  connected(
    {
      id: "keep_alive",
      level: "must",
      title: "after a refusal the connection takes the next request, or is closed",
      why: "A body that is left unread is taken for the next request: the alarm behind it on the connection fails.",
      mend: "Read a refused body to its end, or answer `Connection: close`.",
    },
    async (trial, connection) => {
      const [, forged] = await wrongSecret(trial.deliver);
      const refused: readonly Named<Delivery>[] = [
        ["PUT", { ...withBody(forged, BIG), method: "PUT" }],
        ["a forged body", withBody(forged, BIG)],
        ["no webhook header", { ...withBody(forged, BIG), headers: [] }],
      ];
      for (const [name, request] of refused) {
        await trial.sendBy(request, () => connection.send(request));
        const delivery = await trial.deliver();
        const reply = await sendGenuine(trial, delivery, () =>
          trial.sendBy(delivery, () => connection.send(delivery)),
        );
        await expectTaken(trial, `a genuine one after ${name}`, delivery.id, reply);
      }
    },
  ),
  connected(
    {
      id: "expect_continue",
      level: "should",
      title: "a sender that waits for 100 Continue is served",
      why: "Some HTTP clients wait for it with big bodies, and give up without an answer.",
      mend: "Let the server answer `Expect: 100-continue`, as most do by themselves.",
    },
    async (trial, connection) => {
      const delivery = await trial.deliver();
      const reply = await sendGenuine(trial, delivery, () =>
        trial.sendBy(delivery, () => connection.sendExpecting(delivery)),
      );
      await expectTaken(trial, "Expect: 100-continue", delivery.id, reply);
    },
  ),
  connected(
    {
      id: "broken_heads",
      level: "must",
      title: "bytes that no header may have are refused, and do no harm",
      why: "What a server makes of them may be taken for another id or signature.",
      mend: "Leave HTTP to a server that is strict, and keep it up to date.",
    },
    async (trial, _connection, url) => {
      for (const [name, change] of BROKEN_LINES) {
        const delivery = await trial.deliver();
        const lines = delivery.headers.map(([header, value]) => change(header, value));
        const reply = await sendPastLimiter(trial, delivery, () =>
          trial.sendBy(delivery, () => sendRawHead(url, trial.settings, delivery, lines)),
        );
        await ensureNotTaken(trial, name, delivery.id, reply);
      }
      await expectSurvived(trial, "a broken head");
    },
  ),
];

type ChangeLine = (name: string, value: string) => string;

const BROKEN_LINES: readonly (readonly [name: string, change: ChangeLine])[] = [
  ["a control character in the id", changing(ID, (value) => `${value}\u0001`)],
  ["a NUL in the id", changing(ID, (value) => `${value}\u0000`)],
  ["a byte beyond ASCII in the id", changing(ID, (value) => `${value}\u00e9`)],
  [
    "a folded signature",
    changing(SIGNATURE, (value) => `${value.slice(0, 20)}\r\n ${value.slice(20)}`),
  ],
];

function changing(changed: string, change: (value: string) => string): ChangeLine {
  return (name, value) => `${name}: ${name === changed ? change(value) : value}`;
}
