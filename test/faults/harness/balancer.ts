import type { Answer } from "../checker/history.js";
import { outcomeOf, type WireRequest } from "../../../kit/sending/wire.js";
import type { Random } from "../../../kit/random.js";
import { now } from "./clock.js";
import type { Fleet } from "./fleet.js";

/** Makes a balancer that chooses with `random`. */
export function createBalancer(fleet: Fleet, random: Random) {
  const answers: Answer[] = [];
  let requests = 0;

  return {
    answers,
    /** Number of requests so far. */
    requests: () => requests,
    /** A target for the twin. Rejects if no receiver answers. */
    handle: async (request: Request) => {
      requests += 1;
      const senders = fleet.senders();
      if (senders.length === 0) throw new Error("no receiver listens");
      const sender = random.pick(senders);
      const { method, headers } = request;
      const id = headers.get("x-webhook-id") ?? "";
      // fetch sets it for the body that it sends.
      headers.delete("content-length");
      const body = new Uint8Array(await request.arrayBuffer());
      const wire: WireRequest = { method, headers: [...headers], body };
      const { status, body: text } = await sender.send(wire);
      answers.push({ id, at: now(), status, outcome: outcomeOf(text) });
      return new Response(text, { status });
    },
  };
}
