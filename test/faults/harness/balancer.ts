import type { Answer } from "../checker/history.js";
import { outcomeOf, type WireRequest } from "../../../kit/sending/wire.js";
import type { Random } from "../../../kit/random.js";
import { now } from "./clock.js";
import type { Fleet } from "./fleet.js";

/** Sends each request to a random receiver and records the answer. */
export interface Balancer {
  /** A target for the twin. Rejects if no receiver answers. */
  readonly handle: (request: Request) => Promise<Response>;
  readonly answers: readonly Answer[];
  /** Number of requests so far. */
  readonly requests: () => number;
}

/** Makes a balancer that chooses with `random`. */
export function createBalancer(fleet: Fleet, random: Random): Balancer {
  const answers: Answer[] = [];
  let requests = 0;

  return {
    answers,
    requests: () => requests,
    async handle(request) {
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
