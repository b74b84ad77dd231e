import { deadLettersById, type DeadJob, type DeadLetters } from "../dead-deliveries.js";
import { countOf } from "../envelope.js";
import { jobNameOf } from "../inbox-job.js";
import { wordsOfText } from "../queue-error.js";
import { isTaken, type PgBossJob } from "./client.js";
import { idOf, type PgBossQueues } from "./messages.js";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const PAGE_SIZE = 100;

/** The dead jobs of a queue wait in a queue of their own, each under the id of its delivery. */
export function deadLettersOf(queues: PgBossQueues): DeadLetters {
  const { boss, name, deadName } = queues;
  const find = (by: { key?: string; id?: string; after?: string }) =>
    boss.findJobs(deadName, { queued: true, limit: PAGE_SIZE, ...by });
  /** The letters of a delivery: more than one if it was put twice. */
  const lettersOf = async (id: string): Promise<string[]> => {
    const letters = [...(await find({ key: id })), ...(UUID.test(id) ? await find({ id }) : [])];
    return [...new Set(letters.filter((one) => idOf(one) === id).map((one) => one.id))];
  };

  return deadLettersById({
    async list(limit, offset) {
      await queues.open();
      const listed: DeadJob[] = [];
      let after: string | undefined;
      for (let read = 0; read < offset + limit; read += PAGE_SIZE) {
        const page = await find(after === undefined ? {} : { after });
        // Bodies that are skipped are not kept.
        listed.push(...page.slice(Math.max(0, offset - read)).map(deadDeliveryOf));
        after = page.at(-1)?.id;
        if (page.length < PAGE_SIZE) break;
      }
      return listed.slice(0, limit);
    },
    async replay(id) {
      await queues.open();
      const ids = await lettersOf(id);
      return ids.length > 0 && (await boss.redrive(deadName, { ids, destination: name })) > 0;
    },
    async discard(id) {
      await queues.open();
      const ids = await lettersOf(id);
      return ids.length > 0 && isTaken(boss.deleteJob(deadName, ids));
    },
  });
}

function deadDeliveryOf(letter: PgBossJob): DeadJob {
  const output = Object(letter.output ?? letter.sourceOutput) as Record<string, unknown>;
  // pg-boss's own words are in a `value`.
  const { message } = Object(output["value"] ?? output) as Record<string, unknown>;
  return {
    id: idOf(letter),
    type: jobNameOf(letter.data).type,
    attempts: countOf(output["attempts"]),
    failedAt: letter.createdOn,
    error: wordsOfText(message),
    data: letter.data,
  };
}
