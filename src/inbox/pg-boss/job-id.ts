import { readUuid, UUID_GROUPS } from "../../stores/uuid.js";

/** Keeps the derived ids apart from those that anybody else derives of the same text. */
const NAMESPACE = "identity-gateway-webhooks:delivery:";

/**
 * The UUID under which a delivery stands in pg-boss: its id, where that is a UUID in its canonical form
 * (the gateway's are), else one that is always the same for that id: SHA-256 as a UUID of version 8 (RFC
 * 9562, appendix B.2). Upper case is derived too: to PostgreSQL both cases are one UUID, and two ids
 * that differ must not be one job.
 */
export async function pgBossJobId(id: string): Promise<string> {
  if (readUuid(id, new Uint16Array(UUID_GROUPS))) return id;
  const text = new TextEncoder().encode(NAMESPACE + id);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", text));
  const hex = Array.from(digest.subarray(0, 16), (byte, at) => {
    if (at === 6) return (byte & 0x0f) | 0x80;
    if (at === 8) return (byte & 0x3f) | 0x80;
    return byte;
  })
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join("-");
}
