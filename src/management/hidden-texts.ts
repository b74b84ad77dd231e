const HIDDEN = "[hidden]";

/**
 * Makes a function that removes tokens and secrets from foreign text: a gateway may quote the value that it
 * refuses. It also finds them as JSON and a URL spell them.
 */
export function hiding(secrets: readonly (string | undefined)[]): (text: string) => string {
  const spellings = secrets
    .flatMap((secret) => (secret === undefined || secret === "" ? [] : [secret]))
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encoded(secret)])
    // The longest first: one spelling may be a part of another.
    .toSorted((one, other) => other.length - one.length);
  return (text) => spellings.reduce((left, one) => left.replaceAll(one, HIDDEN), text);
}

function encoded(secret: string): string {
  try {
    return encodeURIComponent(secret);
  } catch {
    // Half of a surrogate pair.
    return secret;
  }
}
