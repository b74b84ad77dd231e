import type { IncomingMessage, RequestListener } from "node:http";
import {
  UnreadableBody,
  bodyLimits,
  discardNodeBody,
  readNodeBody,
  type BodyOptions,
} from "../../../adapters/http/index.js";
import type { WebhookReceiver } from "../../../src/index.js";

/** What a handler of this framework returns; the framework writes it. Undefined: it writes nothing. */
interface FrameworkAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

type FrameworkHandler = (req: IncomingMessage) => Promise<FrameworkAnswer | undefined>;

/** An adapter as a user writes it for a framework that we have none for, with `/adapter` alone. */
function ownAdapter(receiver: WebhookReceiver, options?: BodyOptions): FrameworkHandler {
  const limits = bodyLimits("ownAdapter", receiver, options);
  return async (req) => {
    const { method, headers } = req;
    const body = method === "POST" ? await readNodeBody(req, limits) : "";
    if (body === undefined) return undefined;
    const answer = await receiver.receive({ method, headers, body });
    if (!(body instanceof UnreadableBody && body.isUnfinished)) return answer;
    await discardNodeBody(req);
    return { ...answer, headers: { ...answer.headers, connection: "close" } };
  };
}

/** A server of the framework with the receiver mounted. */
export function ownFrameworkListener(
  receiver: WebhookReceiver,
  options?: BodyOptions,
): RequestListener {
  const handle = ownAdapter(receiver, options);
  const serve: (...args: Parameters<RequestListener>) => Promise<void> = async (req, res) => {
    const answer = await handle(req);
    if (answer === undefined) return;
    // Node adds the length, or none to 204.
    for (const [name, value] of Object.entries(answer.headers)) res.setHeader(name, value);
    res.statusCode = answer.status;
    res.end(answer.body);
  };
  return (req, res) => void serve(req, res);
}
