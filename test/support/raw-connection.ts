import net from "node:net";
import type { WireRequest } from "../../kit/sending/wire.js";
import type { AdapterAnswer } from "./adapters/adapter-exchange.js";

/** A TCP connection for hand-written HTTP/1.1. */
export type RawConnection = Awaited<ReturnType<typeof connectRaw>>;

/** Connects to a server on 127.0.0.1. */
export async function connectRaw(port: number) {
  const socket = net.connect({ port, host: "127.0.0.1", noDelay: true });
  let received = Buffer.alloc(0);
  let error: Error | undefined;
  let isClosed = false;
  const waiting = new Set<() => void>();
  const wake = () => {
    for (const check of waiting) check();
  };
  const closed = new Promise<{ error: Error | undefined }>((resolve) => {
    socket.on("close", () => {
      isClosed = true;
      wake();
      resolve({ error });
    });
  });
  socket.on("error", (cause) => (error = cause));
  socket.on("data", (data) => {
    received = Buffer.concat([received, data]);
    wake();
  });
  await new Promise<void>((resolve) => socket.once("connect", resolve));

  return {
    socket,
    /** Resolves when the connection is closed. `error` means that it was reset. */
    closed,
    /** All received bytes. */
    received: () => received.toString("latin1"),
    /** Resolves when the kernel has the bytes or the connection is closed. */
    write: (bytes: string | Uint8Array) =>
      new Promise<void>((resolve) => {
        socket.write(bytes, () => resolve());
      }),
    /** Resolves to the first `count` complete answers. Rejects if the connection ends before. */
    answers: (count: number) =>
      new Promise<readonly AdapterAnswer[]>((resolve, reject) => {
        const check = () => {
          const answers = parseAnswers(received);
          if (answers.length < count && !isClosed) return;
          waiting.delete(check);
          if (answers.length >= count) resolve(answers);
          else reject(new Error(`closed after ${received.toString("latin1")}`, { cause: error }));
        };
        waiting.add(check);
        check();
      }),
  };
}

/** The answers that are complete by their Content-Length. Interim answers have no body. */
function parseAnswers(received: Buffer): AdapterAnswer[] {
  const answers: AdapterAnswer[] = [];
  let rest = received;
  for (;;) {
    const headLength = rest.indexOf("\r\n\r\n");
    if (headLength === -1) return answers;
    const [statusLine = "", ...lines] = rest.toString("latin1", 0, headLength).split("\r\n");
    const headers = Object.fromEntries(
      lines.map((line) => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
      }),
    );
    const end = headLength + 4 + Number(headers["content-length"] ?? 0);
    if (rest.length < end) return answers;
    const body = rest.toString("utf8", headLength + 4, end);
    answers.push({ status: Number(statusLine.split(" ")[1]), headers, body });
    rest = rest.subarray(end);
  }
}

/** The head of a request. `framing` is its Content-Length or Transfer-Encoding line, if any. */
export function headOf({ method, headers }: WireRequest, ...framing: string[]): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  return [`${method} / HTTP/1.1`, "Host: 127.0.0.1", ...lines, ...framing, "", ""].join("\r\n");
}

/** A complete request with its Content-Length. */
export function wireOf(request: WireRequest): Buffer {
  const { body = new Uint8Array(0) } = request;
  return Buffer.concat([Buffer.from(headOf(request, `Content-Length: ${body.length}`)), body]);
}

/** One chunk of a chunked transfer. An empty chunk is the last. */
export function chunkOf(bytes: Uint8Array): Buffer {
  return Buffer.concat([
    Buffer.from(`${bytes.length.toString(16)}\r\n`),
    bytes,
    Buffer.from("\r\n"),
  ]);
}
