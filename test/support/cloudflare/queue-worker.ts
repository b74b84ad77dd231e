// A Worker whose queue is run by the tests: each message is a request to them, answered with its settlement.
import { cloudflareQueue } from "../../../src/inbox/cloudflare/index.js";
import type { CloudflareMessage, QueueBinding } from "../../../src/inbox/cloudflare/queue.js";
import type { QueueSettlement } from "../../../src/inbox/queue-driver.js";

interface Env {
  readonly QUEUE: QueueBinding;
  readonly DEAD_QUEUE: QueueBinding;
  readonly TESTS: { fetch(url: string, request: object): Promise<Response> };
}

const driverOf = ({ QUEUE: queue, DEAD_QUEUE: deadQueue }: Env) =>
  cloudflareQueue({ queue, deadQueue });

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    try {
      await driverOf(env).put((await request.json()) as never, undefined);
      return new Response();
    } catch (error) {
      return new Response(String(error), { status: 500 });
    }
  },
  async queue(batch: { queue: string; messages: CloudflareMessage[] }, env: Env): Promise<void> {
    const post = (path: string, body: object) =>
      env.TESTS.fetch(`http://tests/${path}`, { method: "POST", body: JSON.stringify(body) });
    const runOne = async (one: CloudflareMessage) => {
      if (batch.queue === "dead") return;
      const message = driverOf(env).messageOf(one);
      const settlement = (await (await post("run", message)).json()) as QueueSettlement;
      await post("settled", { id: one.id, isTaken: await message.settle(settlement) });
    };
    await Promise.all(batch.messages.map(runOne));
  },
};
