const LOCAL_END = /[\p{L}\p{N}!#$%&'*+/=?^_`{|}~"-]$/u;
const DOMAIN = /^(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,62})\.)+[\p{L}\p{N}-]{2,63}|^\[[0-9a-f.:]+\]/iu;
const MAX_DOMAIN_LENGTH = 255;

/** Whether an e-mail address stands in a text: something, an `@` and a domain of two labels, or an address of a host. */
export function hasEmailAddress(text: string): boolean {
  for (let at = text.indexOf("@"); at !== -1; at = text.indexOf("@", at + 1)) {
    // Looked for around each @ alone: by one expression, a text without any would take long.
    const before = text.slice(Math.max(0, at - 2), at);
    const behind = text.slice(at + 1, at + 1 + MAX_DOMAIN_LENGTH);
    if (LOCAL_END.test(before) && DOMAIN.test(behind)) return true;
  }
  return false;
}
