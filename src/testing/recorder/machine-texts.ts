/** What machines write in digits and no person is known by. */
const MACHINE_TEXTS =
  // UUIDs; digests and other hexadecimal texts; days and moments, the year first or last.
  /(?<![0-9A-Za-z])(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32,})(?![0-9A-Za-z])|(?<![0-9])(?:[0-9]{4}-(?:0[1-9]|1[0-2])-[0-3][0-9](?:[ T][0-2][0-9]:[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?(?:Z|[+-][0-9]{2}:?[0-9]{2}(?![0-9]))?)?|[0-3][0-9]([-./])(?:0[1-9]|1[0-2])\1(?:19|20)[0-9]{2})(?![0-9])/gi;

/** The text with a mark in the place of each, so that its digits are not taken for another number. */
export function withoutMachineTexts(text: string): string {
  return text.replace(MACHINE_TEXTS, "·");
}
