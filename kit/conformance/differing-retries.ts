import type { HeaderLine } from "../sending/wire.js";
import type { CaseContext } from "./case-context.js";
import { expectHandledOnce, sendTwice } from "./duplicates.js";
import { withHeader } from "./request-changes.js";
import { inGroups, type Delivery } from "./test-deliveries.js";

const FIRST_WAY = ["203.0.113.7", "GuzzleHttp/7", "1"] as const;
const OTHER_WAY = ["198.51.100.9", "axios/1.7.2", "2"] as const;

/** A retry may differ from the first attempt in all but id and body. None of them may be handled again. */
export async function expectRetriesRecognised(context: CaseContext): Promise<void> {
  await inGroups(context, context.settings.types, async (type) => {
    const delivery = await context.deliver({ type, age: 45 });
    const { id, body } = delivery;
    const retry = sentBy(await context.deliver({ type, id, body }), OTHER_WAY);
    const answers = [...(await sendTwice(context, sentBy(delivery, FIRST_WAY), retry))];
    // Other cases are about these forms. A receiver that refuses them does not handle the delivery again.
    const lower = retry.headers.map(([name, value]): HeaderLine => [name.toLowerCase(), value]);
    const charset = withHeader(retry, "Content-Type", "application/json; charset=utf-8");
    const odd = [{ ...retry, headers: lower.reverse() }, charset, { ...retry, chunked: true }];
    for (const request of odd) {
      const answer = await context.sendAlone(request);
      if (answer.result === "acknowledged") answers.push(answer);
    }
    await expectHandledOnce(context, delivery, answers);
  });
}

function sentBy(
  delivery: Delivery,
  [address, agent, attempt]: readonly [address: string, agent: string, attempt: string],
): Delivery {
  const added: readonly HeaderLine[] = [
    ["X-Forwarded-For", address],
    ["X-Real-IP", address],
    ["User-Agent", agent],
    ["X-Request-Id", `request-${attempt}`],
    ["X-Webhook-Attempt", attempt],
  ];
  return { ...delivery, headers: [...delivery.headers, ...added] };
}
