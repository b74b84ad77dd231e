import type http from "node:http";
import type { AddressInfo, Server } from "node:net";

/** A server on a free port of 127.0.0.1. */
export type RunningServer = Awaited<ReturnType<typeof listen>>;

/** Starts a server, or waits until a started one listens. */
export async function listen(server: Server) {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    if (server.listening) resolve();
    else server.listen(0, "127.0.0.1", resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    /** Resolves when no connection is left. Closes none of them. */
    close: () =>
      new Promise<void>((resolve, reject) => {
        server.close((error) => {
          if (error === undefined) resolve();
          else reject(error);
        });
      }),
  };
}

/** Starts an HTTP server whose `close` ends its connections too. */
export async function listenHttp(server: http.Server) {
  const { port, close } = await listen(server);
  return {
    port,
    /** Without a path. */
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.closeAllConnections();
      return close();
    },
  };
}

/**
 * A key and a certificate for 127.0.0.1, in PEM: self-signed, valid until 2126, and trusted by nothing but tests. Written down because Node makes keys but no
 * certificates: `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 36500
 * -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1`.
 */
export const testCertificate = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgPmcGAqYvteoR1qI6
cTXomnOAX/A+iUXzKX3Vni/fEEOhRANCAASDZXQnq3qeA8zY1qYlZsLv3KnM8+cb
RpdkXQ69yfnmfbJCf18aQ2+hPc5c7wYD0YRVhttmXSA8ZLPJFqSea57q
-----END PRIVATE KEY-----
`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBkDCCATagAwIBAgIUZgDmBNAs/waxQfWiT9Kcvj8hwJwwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJMTI3LjAuMC4xMCAXDTI2MTEyMzE1NDExOVoYDzIxMjYxMDMw
MTU0MTE5WjAUMRIwEAYDVQQDDAkxMjcuMC4wLjEwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAASDZXQnq3qeA8zY1qYlZsLv3KnM8+cbRpdkXQ69yfnmfbJCf18aQ2+h
Pc5c7wYD0YRVhttmXSA8ZLPJFqSea57qo2QwYjAdBgNVHQ4EFgQUJ3iniIXNDuAb
6pOP0XQ11jviKj0wHwYDVR0jBBgwFoAUJ3iniIXNDuAb6pOP0XQ11jviKj0wDwYD
VR0TAQH/BAUwAwEB/zAPBgNVHREECDAGhwR/AAABMAoGCCqGSM49BAMCA0gAMEUC
IH6T3jPtqVq9cGLSPCai8L9SYTqVD8q0wQKzCz4dFuehAiEAnBrEURWuBV1WEqxv
kSFBK4oaIOv5yOI9WFe3rkQEqlk=
-----END CERTIFICATE-----
`,
};
