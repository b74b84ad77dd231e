/** A shorter one may be a word that an answer has of itself, such as "handled". */
const MIN_CHARACTERS = 12;

/** Whether a text repeats a secret. */
export function repeatsSecret(text: string, secret: string): boolean {
  return secret.length >= MIN_CHARACTERS && text.includes(secret);
}

/** The text without the secret. */
export function withoutSecret(text: string, secret: string): string {
  return repeatsSecret(text, secret) ? text.replaceAll(secret, "[secret]") : text;
}
