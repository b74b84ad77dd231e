const LF = 0x0a;
const MAX_SIZE_LINE = 128;

/** The content of an HTTP/1.1 chunked body; undefined if the bytes are not in chunks. */
export function readChunks(bytes: Uint8Array): Uint8Array | undefined {
  const content: Uint8Array[] = [];
  let at = 0;
  for (;;) {
    const end = bytes.subarray(at, at + MAX_SIZE_LINE).indexOf(LF);
    if (end === -1) return undefined;
    const line = Buffer.from(bytes.subarray(at, at + end)).toString("latin1");
    const [, digits] = /^([0-9a-f]{1,8})(?:;.*)?\r?$/i.exec(line) ?? [];
    if (digits === undefined) return undefined;
    at += end + 1;
    const size = Number.parseInt(digits, 16);
    if (size === 0) return Buffer.concat(content);
    const chunk = bytes.subarray(at, at + size);
    if (chunk.length < size) return undefined;
    content.push(chunk);
    at += size;
    const newline = bytes.subarray(at, at + 2).indexOf(LF);
    if (newline === -1) return undefined;
    at += newline + 1;
  }
}
