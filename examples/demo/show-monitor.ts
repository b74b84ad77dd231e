import {
  createWebhookReceiver,
  memoryStore,
  type DeliveryStore,
  type WebhookReceiver,
} from "identity-gateway-webhooks";
import {
  sampleAlarm,
  sampleOnlineDataEvent,
  signedDelivery,
  TEST_SECRET,
} from "identity-gateway-webhooks/testing";
import { serve } from "./endpoint.js";
import type { Answer, Row, Section } from "./row.js";
import { HANDLED } from "./row.js";
import type { Result } from "./table.js";

/** What is wrong with the demo's app at the moment. */
interface Troubles {
  secret: string;
  clockOffMs: number;
  isStoreDown: boolean;
  doesHandlerFail: boolean;
}

/** A failure that is planted, and cured. */
interface Planted {
  readonly title: string;
  readonly troubles?: Partial<Troubles>;
  /** Sends an event that no handler takes. */
  readonly isUnhandled?: boolean;
  readonly answer: Answer;
}

const HEALTHY: Troubles = {
  secret: TEST_SECRET,
  clockOffMs: 0,
  isStoreDown: false,
  doesHandlerFail: false,
};
const TIMES = 6;
/** `receiver.health()` counts the last 15 minutes, and the clock that was off was ten minutes ahead. */
const LATER_MS = 30 * 60_000;

const FAILURES: readonly Planted[] = [
  {
    title: "A wrong secret after a deployment",
    troubles: { secret: "whsec_of_another_webhook_01" },
    answer: { status: 409, outcome: "signature_mismatch" },
  },
  {
    title: "A clock that is ten minutes off",
    troubles: { clockOffMs: 600_000 },
    answer: { status: 409, outcome: "stale" },
  },
  {
    title: "A store that is down",
    troubles: { isStoreDown: true },
    answer: { status: 503, outcome: "store_unavailable" },
  },
  {
    title: "A handler that fails",
    troubles: { doesHandlerFail: true },
    answer: { status: 500, outcome: "handler_failed" },
  },
  {
    title: "An event that no handler takes, until a deployment with one",
    isUnhandled: true,
    answer: { status: 200, outcome: "unhandled" },
  },
];

/** Plants failures one after the other, cures them, and shows `receiver.health()` before and after. */
export async function showMonitor(): Promise<Result> {
  const startedAt = performance.now();
  const troubles = { ...HEALTHY };
  let skippedMs = 0;
  const now = (): number => Date.now() + skippedMs;
  const receiver = receiverWith(troubles, now);
  const endpoint = await serve(receiver);

  const send = async (
    delivery: string,
    done: string,
    planted: Planted | undefined,
  ): Promise<Row> => {
    const expected = planted?.answer ?? HANDLED;
    const answers: (Answer & { readonly ms: number })[] = [];
    for (let sent = 0; sent < TIMES; sent++) {
      answers.push(await sendTo(endpoint.url, now(), planted?.isUnhandled === true));
    }
    const different = answers.find(
      ({ status, outcome }) => status !== expected.status || outcome !== expected.outcome,
    );
    const shown = different ?? answers[0] ?? { ms: 0 };
    const result = different === undefined ? "as_expected" : "different";
    const note = healthLine(receiver);
    return { ...shown, delivery, done, expected, requests: TIMES, result, note };
  };

  const calm = await send("Alarms", `${TIMES} sent`, undefined);
  const sections: Section[] = [{ title: "Calm", rows: [calm] }];
  for (const planted of FAILURES) {
    Object.assign(troubles, planted.troubles);
    const failing = await send(
      planted.isUnhandled === true ? "Events" : "Alarms",
      `planted, ${TIMES} sent`,
      planted,
    );
    Object.assign(troubles, HEALTHY);
    skippedMs += LATER_MS;
    const cured = await send("Alarms", `cured, ${TIMES} sent later`, undefined);
    // Types without a handler are named until the process ends.
    const rows = planted.isUnhandled === true ? [failing] : [failing, cured];
    sections.push({ title: planted.title, rows });
  }
  const health = JSON.stringify(receiver.health(), undefined, 2);
  await endpoint.close();
  return {
    headline: `The gateway delivers to ${endpoint.url}, and receiver.health() watches`,
    sections,
    miscounts: [],
    ms: performance.now() - startedAt,
    remark: `receiver.health() at the end:\n${health}`,
  };
}

function receiverWith(troubles: Troubles, now: () => number): WebhookReceiver {
  const store = memoryStore();
  const reachable: DeliveryStore = {
    claim: (...args) => {
      if (troubles.isStoreDown) throw new Error("the demo's store is down");
      return store.claim(...args);
    },
    renew: (...args) => store.renew(...args),
    complete: (...args) => store.complete(...args),
    release: (...args) => store.release(...args),
  };
  const handle = (): void => {
    if (troubles.doesHandlerFail) throw new Error("the demo's handler fails");
  };
  return createWebhookReceiver({
    secret: () => troubles.secret,
    store: reachable,
    handlers: { new_alarm: handle, delete_my_data_event: { DATA_REAPPEARED: handle } },
    now: () => now() + troubles.clockOffMs,
    logger: false,
  });
}

async function sendTo(
  url: string,
  nowMs: number,
  isUnhandled: boolean,
): Promise<Answer & { readonly ms: number }> {
  const signing = { secret: TEST_SECRET, timestamp: Math.floor(nowMs / 1000) };
  const created_at = new Date(nowMs).toISOString();
  const { method, headers, body } = await signedDelivery(
    isUnhandled
      ? { ...signing, event: sampleOnlineDataEvent("DATA_DELETED") }
      : { ...signing, alarm: sampleAlarm({ created_at }) },
  );
  const startedAt = performance.now();
  const answer = await fetch(url, { method, headers, body });
  const { outcome, error } = (await answer.json()) as {
    readonly outcome?: string;
    readonly error?: { readonly code: string };
  };
  return {
    status: answer.status,
    outcome: outcome ?? error?.code.toLowerCase() ?? "",
    ms: performance.now() - startedAt,
  };
}

/** The health in a line, with its reasons. */
function healthLine(receiver: WebhookReceiver): string {
  const { status, reasons } = receiver.health();
  const parts = reasons.map(({ code, count, advice }) => `${code} (${count}). ${advice}`);
  return [`health: ${status}`, ...parts].join(", ");
}
