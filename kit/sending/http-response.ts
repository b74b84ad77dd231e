import type { ClientRequest } from "node:http";
import { BodyCollector, MAX_ANSWER_BYTES } from "./body-collector.js";
import type { WireAnswer } from "./wire.js";

/**
 * Reads the response to a request that was started. The body is cut at `maxBodyBytes`. Rejects when no
 * response arrives, or not all of it.
 */
export function readResponse(
  req: ClientRequest,
  maxBodyBytes = MAX_ANSWER_BYTES,
): Promise<Omit<WireAnswer, "ms">> {
  return new Promise((resolve, reject) => {
    req.on("response", (res) => {
      // A server that refuses an upload may close the connection while the upload goes on.
      req.off("error", reject).on("error", () => undefined);
      const collector = new BodyCollector(maxBodyBytes);
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
        // The body may never end, and an unread rest makes the connection unusable.
        res.destroy();
      });
      res.on("error", reject);
      res.on("end", finish);
    });
    req.on("error", reject);
  });
}

const HANG_UPS: readonly unknown[] = ["ECONNRESET", "EPIPE"];

/**
 * Watches a request that was just started. The returned function tells whether the request failed with
 * this error because the server had closed the kept connection.
 *
 * A server may close a kept connection at any time, also while a request is on its way. Such a request
 * may be sent again on a new connection if no byte of a response has arrived (RFC 9112, section 9.3.1).
 * That is safe for a delivery: the id marks the second request as the same delivery.
 */
export function watchForStaleConnection(req: ClientRequest): (error: unknown) => boolean {
  let bytesBefore = 0;
  req.once("socket", ({ bytesRead }) => {
    bytesBefore = bytesRead;
  });
  return (error) => {
    const isUnanswered = req.socket?.bytesRead === bytesBefore;
    const isHangUp = error instanceof Error && "code" in error && HANG_UPS.includes(error.code);
    return req.reusedSocket && isUnanswered && isHangUp;
  };
}
