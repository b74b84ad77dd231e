import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { SECRET } from "../../deliveries.js";
import { verifyByHand } from "../../handwritten/verify.js";
import type { TakeByHand } from "./contender.js";

/** The receiver that a partner writes on plain Node: verify, parse, claim, handle, complete, answer. */
export function byHandListener(
  take: TakeByHand | undefined,
  handle: () => Promise<unknown>,
): RequestListener {
  const receive = async (req: IncomingMessage, body: Buffer): Promise<string> => {
    if (take === undefined) return "handled";
    if (!verifyByHand(SECRET, req.headers, body)) return "refused";
    JSON.parse(body.toString("utf8"));
    const id = req.headers["x-webhook-id"] as string;
    const complete = await take(id, String(req.headers["x-webhook-type"]), body);
    if (complete === undefined) return "duplicate";
    await handle();
    await complete();
    return "handled";
  };
  return (req, res) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => {
      receive(req, Buffer.concat(chunks)).then(
        (outcome) => {
          answer(res, outcome === "refused" ? 401 : 200, { outcome });
        },
        () => {
          answer(res, 500, { outcome: "failed" });
        },
      );
    });
  };
}

function answer(res: ServerResponse, status: number, body: object): void {
  res.statusCode = status;
  res.setHeader("content-type", "application/json");
  res.end(JSON.stringify(body));
}
