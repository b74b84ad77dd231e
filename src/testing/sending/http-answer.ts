import type { ClientRequest } from "node:http";
import { collectBody, MAX_ANSWER_BYTES } from "./answer-body.js";
import type { WireAnswer } from "./wire.js";

/**
 * The answer to a request that was started, its body cut at `maxBodyBytes`. Rejects where none comes, or
 * not all of it.
 */
export function answerOf(
  req: ClientRequest,
  maxBodyBytes = MAX_ANSWER_BYTES,
): Promise<Omit<WireAnswer, "ms">> {
  return new Promise((resolve, reject) => {
    req.on("response", (res) => {
      // A server that refuses an upload closes the connection, perhaps while it is being written.
      req.off("error", reject).on("error", () => undefined);
      const collector = collectBody(maxBodyBytes);
      const finish = (): void => {
        const headers = Object.entries(res.headers).map(
          ([name, value]) => [name, String(value)] as const,
        );
        const status = Number(res.statusCode);
        resolve({ status, headers: Object.fromEntries(headers), ...collector.end() });
      };
      res.on("data", (piece: Buffer) => {
        if (collector.add(piece)) return;
        finish();
        // It may never end, and the connection is not read to where the next answer begins.
        res.destroy();
      });
      res.on("error", reject);
      res.on("end", finish);
    });
    req.on("error", reject);
  });
}
