/**
 * How long the rest of a refused upload is read and thrown away. A socket that is closed over unread
 * data is reset, and the reset can destroy the answer before the sender has read it.
 */
export const LINGER_MS = 2_000;
