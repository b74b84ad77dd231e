import type { WireRequest } from "../../kit/sending/wire.js";
import { eventually, type ListeningReceiver } from "./listening-receiver.js";
import { chunkOf, headOf, wireOf, type RawConnection } from "./raw-connection.js";

/** Writes a request. Resolves when all of it is sent. */
export type Arrival = (
  server: ListeningReceiver,
  connection: RawConnection,
  request: WireRequest,
) => Promise<void>;

const LAST_CHUNK = chunkOf(new Uint8Array(0));

/** Writes the head, waits until the server has it, and then writes each piece in its own TCP segment. */
function afterItsHead(
  framing: (body: Uint8Array) => string,
  pieces: (body: Uint8Array) => Iterable<Uint8Array>,
): Arrival {
  return async (server, connection, request) => {
    const { body = new Uint8Array(0) } = request;
    const count = server.requests.length;
    await connection.write(headOf(request, framing(body)));
    await eventually(() => server.requests.length).toBe(count + 1);
    for (const piece of pieces(body)) await connection.write(piece);
  };
}

const declared = (body: Uint8Array): string => `Content-Length: ${body.length}`;
const CHUNKED = "Transfer-Encoding: chunked";

function halves(body: Uint8Array): Uint8Array[] {
  const middle = Math.floor(body.length / 2);
  return [body.subarray(0, middle), body.subarray(middle)];
}

/** The ways in which a body can reach a server. */
export const arrivals: readonly (readonly [how: string, send: Arrival])[] = [
  ["with its headers", (_server, connection, request) => connection.write(wireOf(request))],
  [
    "in chunks with its headers",
    (_server, connection, request) => {
      const chunks = halves(request.body ?? new Uint8Array(0)).map(chunkOf);
      const head = Buffer.from(headOf(request, CHUNKED));
      return connection.write(Buffer.concat([head, ...chunks, LAST_CHUNK]));
    },
  ],
  ["after its headers", afterItsHead(declared, (body) => [body])],
  [
    "byte by byte",
    afterItsHead(declared, (body) => Array.from(body, (byte) => Uint8Array.of(byte))),
  ],
  [
    "in chunks after its headers",
    afterItsHead(
      () => CHUNKED,
      (body) => [...halves(body).map(chunkOf), LAST_CHUNK],
    ),
  ],
];
