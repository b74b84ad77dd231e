import type { WebhookType } from "../../src/delivery/headers.js";
import { sampleAlarm } from "../samples/sample-alarm.js";
import { sampleOnlineDataEvent } from "../samples/sample-online-data-event.js";
import type { CaseContext } from "./case-context.js";
import { expectEachHandledOnce } from "./concurrent-rules.js";
import type { ConformanceRules } from "./conformance-rule.js";
import type { ReceiverAnswer } from "./receiver-answer.js";
import { freshSeed, inGroups, sampleText, type Delivery } from "./test-deliveries.js";

/** Two deliveries are two deliveries, however much their records have in common. */
export const sameAccountRules: ConformanceRules = {
  same_account: {
    title: "different deliveries about the same account are each handled once",
    why: "A leak often makes several alarms for one customer in one second. A receiver that compares accounts, types, sites or dates takes the second one for a duplicate, and it is lost.",
    fix: "Recognise a duplicate by its X-Webhook-Id alone.",
    async whenAccepted(context) {
      const send = async (delivery: Delivery): Promise<readonly [Delivery, ReceiverAnswer]> => [
        delivery,
        // On its own connection, or a stale connection could send it twice: a duplicate of itself.
        await context.sendAlone(delivery),
      ];
      await inGroups(context, context.settings.types, async (type) => {
        const inTurn: (readonly [Delivery, ReceiverAnswer])[] = [];
        for (const delivery of await lookalikes(context, type)) inTurn.push(await send(delivery));
        await expectEachHandledOnce(context, inTurn, "with much in common");
        const atOnce = await Promise.all((await lookalikes(context, type)).map(send));
        await expectEachHandledOnce(context, atOnce, "with much in common, at the same time");
      });
    },
  },
};

/** Deliveries whose records share all that they can, and are different records all the same. */
function lookalikes({ deliver }: CaseContext, type: WebhookType): Promise<readonly Delivery[]> {
  const records = type === "new_alarm" ? similarAlarms() : similarEvents();
  return Promise.all(records.map((record) => deliver({ type, body: sampleText(type, record) })));
}

function similarAlarms(): readonly Record<string, unknown>[] {
  const seed = freshSeed();
  const alarm = sampleAlarm({ event_type: "email_hacked" }, { seed });
  const other = sampleAlarm({ event_type: "email_hacked" }, { seed: freshSeed() });
  const { id, original_event_id, text } = other;
  const second = { ...alarm, id, original_event_id, text: `${text} (second)` };
  // The last one shares the dates alone.
  const { date, checked_at, created_at, updated_at } = alarm;
  const sameDates = { ...other, id: sampleAlarm().id, date, checked_at, created_at, updated_at };
  return [{ ...alarm }, second, sameDates];
}

/** An event has no id: what happens to the same site again differs in its time alone. */
function similarEvents(): readonly Record<string, unknown>[] {
  const event = sampleOnlineDataEvent("DATA_REAPPEARED", {}, { seed: freshSeed() });
  const other = sampleOnlineDataEvent("DATA_REAPPEARED", {}, { seed: freshSeed() });
  const later = new Date(Date.parse(event.occurred_at) + 86_400_000).toISOString();
  const { occurred_at } = event;
  return [{ ...event }, { ...event, occurred_at: later }, { ...other, occurred_at }];
}
