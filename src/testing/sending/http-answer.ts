import type { ClientRequest } from "node:http";
import type { WireAnswer } from "./wire.js";

/** The answer to a request that was started. Rejects where none comes, or not all of it. */
export function answerOf(req: ClientRequest): Promise<Omit<WireAnswer, "ms">> {
  return new Promise((resolve, reject) => {
    req.on("response", (res) => {
      // A server that refuses an upload closes the connection, perhaps while it is being written.
      req.off("error", reject).on("error", () => undefined);
      const chunks: Buffer[] = [];
      res.on("data", (chunk: Buffer) => chunks.push(chunk));
      res.on("error", reject);
      res.on("end", () => {
        const headers = Object.entries(res.headers).map(
          ([name, value]) => [name, String(value)] as const,
        );
        resolve({
          status: res.statusCode ?? 0,
          headers: Object.fromEntries(headers),
          body: Buffer.concat(chunks).toString(),
        });
      });
    });
    req.on("error", reject);
  });
}
