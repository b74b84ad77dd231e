import type { ClientRequest } from "node:http";

const HANG_UPS: readonly unknown[] = ["ECONNRESET", "EPIPE"];

/**
 * Watches a request that was just started; the function says of its error whether the kept connection
 * that it went out on had been closed by the server. A server may do so at any time, and does not know
 * of a request that is on its way: one that fails so before any byte of an answer may be sent once more
 * on a new connection (RFC 9112, section 9.3.1). A delivery may, since its id says that it is the same.
 */
export function watchConnection(req: ClientRequest): (error: unknown) => boolean {
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
