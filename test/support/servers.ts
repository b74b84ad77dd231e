import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { AddressInfo, Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A server on a free port of 127.0.0.1. */
export interface RunningServer {
  readonly port: number;
  /** Resolves when no connection is left. Closes none of them. */
  readonly close: () => Promise<void>;
}

/** Starts a server, or waits until a started one listens. */
export async function listen(server: Server): Promise<RunningServer> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    if (server.listening) resolve();
    else server.listen(0, "127.0.0.1", resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => {
          if (error === undefined) resolve();
          else reject(error);
        });
      }),
  };
}

/** A key and a certificate for 127.0.0.1, in PEM. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

let certificate: Certificate | undefined;

/** A self-signed certificate. It is made on first use. */
export function testCertificate(): Certificate {
  certificate ??= makeCertificate();
  return certificate;
}

function makeCertificate(): Certificate {
  const folder = mkdtempSync(join(tmpdir(), "certificate-"));
  const [keyFile, certFile] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc"];
  try {
    execFileSync(
      "openssl",
      ["req", "-x509", ...key, ...subject, "-days", "1", "-keyout", keyFile, "-out", certFile],
      { stdio: "pipe" },
    );
    return { key: readFileSync(keyFile, "utf8"), cert: readFileSync(certFile, "utf8") };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
