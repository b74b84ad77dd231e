import { isPost } from "../../delivery/request.js";
import type { Clue } from "./finding.js";

/** What a receiver refuses before it looks at the headers: another method, and a body beyond its bound. */
export function refusedRequest(
  method: string | undefined,
  bodyBytes: number,
  maxBodyBytes: number,
): readonly Clue[] {
  const clues: Clue[] = [];
  if (!isPost(method)) {
    clues.push({ code: "method_not_post", message: "The method of the request is not POST." });
  }
  if (bodyBytes > maxBodyBytes) {
    const message = `The body has ${bodyBytes} bytes, and the receiver takes up to ${maxBodyBytes}.`;
    clues.push({ code: "body_too_large", capturedBytes: bodyBytes, message });
  }
  return clues;
}
