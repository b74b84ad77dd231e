import net from "node:net";
import tls from "node:tls";

/** Opens a connection to the host and port of a URL, with TLS for https. */
export function openSocket(url: URL, skipTlsVerification: boolean): net.Socket {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const isTls = url.protocol === "https:";
  const port = Number(url.port || (isTls ? 443 : 80));
  if (!isTls) return net.connect({ host, port });
  return tls.connect({
    host,
    port,
    rejectUnauthorized: !skipTlsVerification,
    // A server name must not be an address (RFC 6066, section 3).
    ...(net.isIP(host) === 0 ? { servername: host } : {}),
  });
}

/** The event of a socket of `openSocket` when it can be used. */
export function readyEvent({ protocol }: URL): "secureConnect" | "connect" {
  return protocol === "https:" ? "secureConnect" : "connect";
}
