import net from "node:net";
import type { HeaderLine } from "../../../kit/sending/wire.js";

const FRAME = { data: 0, headers: 1, rstStream: 3, settings: 4 } as const;
const FLAGS = { none: 0, endStream: 1, endHeaders: 4 } as const;
const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/** Connects and sends the head of a POST. */
export function startRawHttp2(port: number, headers: readonly HeaderLine[]) {
  const socket = net.connect({ port, host: "127.0.0.1", noDelay: true });
  socket.on("error", () => undefined).resume();
  const send = (type: number, flags: number, streamId: number, payload: Uint8Array) => {
    const head = Buffer.alloc(9);
    head.writeUIntBE(payload.length, 0, 3);
    head.writeUInt8(type, 3);
    head.writeUInt8(flags, 4);
    head.writeUInt32BE(streamId, 5);
    socket.write(Buffer.concat([head, payload]));
  };

  socket.write(PREFACE);
  send(FRAME.settings, FLAGS.none, 0, new Uint8Array(0));
  const pseudo = [
    [":method", "POST"],
    [":scheme", "http"],
    [":path", "/"],
    [":authority", "127.0.0.1"],
  ] as const;
  send(FRAME.headers, FLAGS.endHeaders, 1, Buffer.concat([...pseudo, ...headers].map(literal)));

  return {
    data: (bytes: string | Uint8Array, end = false) => {
      send(FRAME.data, end ? FLAGS.endStream : FLAGS.none, 1, Buffer.from(bytes));
    },
    reset: (code: number) => {
      const payload = Buffer.alloc(4);
      payload.writeUInt32BE(code);
      send(FRAME.rstStream, FLAGS.none, 1, payload);
    },
    close: () => {
      socket.destroy();
    },
  };
}

/** A header in HPACK's plainest form: never indexed, no Huffman code, both texts under 127 bytes. */
function literal([name, value]: HeaderLine): Buffer {
  const text = (of: string) => Buffer.concat([Buffer.of(of.length), Buffer.from(of, "latin1")]);
  return Buffer.concat([Buffer.of(0), text(name), text(value)]);
}
