/** Whether two texts name the same URL, however they spell it. */
export function isSameUrl(one: string, other: string): boolean {
  return normalized(one) === normalized(other);
}

function normalized(text: string): string {
  return URL.canParse(text) ? new URL(text).href : text;
}
