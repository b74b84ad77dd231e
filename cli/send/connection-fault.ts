import { openSocket, readyEvent } from "../../kit/sending/open-socket.js";
import { sendErrorOf, type SendError, type SenderOptions } from "../../kit/sending/target.js";

const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Opens a connection to the host of a URL and sends nothing. Resolves to the error when nothing listens or the TLS
 * handshake fails. A host that is silent for long is no error here: the requests show it.
 */
export function connectionFault(
  url: URL,
  { skipTlsVerification = false }: Pick<SenderOptions, "skipTlsVerification">,
  signal: AbortSignal,
): Promise<SendError | undefined> {
  const socket = openSocket(url, skipTlsVerification);
  const settled = new AbortController();
  return new Promise<SendError | undefined>((resolve) => {
    const end = (): void => resolve(undefined);
    socket.once(readyEvent(url), end);
    socket.once("close", end);
    socket.setTimeout(CONNECT_TIMEOUT_MS, end);
    signal.addEventListener("abort", end, { signal: settled.signal });
    socket.on("error", (error) => resolve(sendErrorOf(error)));
  }).finally(() => {
    // Doctor asks many times with one signal, and Node warns of the eleventh listener.
    settled.abort();
    socket.destroy();
  });
}
