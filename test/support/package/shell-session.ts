/** A command of a document, and what the document says it prints. */
export interface ShownCommand {
  readonly command: string;
  readonly output: string;
}

const PROMPT = "$ ";

/** The commands of a `console` block: each line with a prompt, and what stands below it. */
export function shownCommands(block: string): readonly ShownCommand[] {
  const [before = "", ...parts] = `\n${block}`.split(`\n${PROMPT}`);
  if (before.trim() !== "") throw new Error("a console block begins with a command");
  return parts.map((part) => {
    const [command = "", ...output] = part.split("\n");
    return { command, output: output.join("\n") };
  });
}

/**
 * An output without what differs from run to run: ids, times, durations, the start of a signature, and
 * the white space that gives way to them.
 */
export function lastingOutput(output: string): string {
  return (
    output
      .replaceAll(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "<id>")
      .replaceAll(/(?<=X-Webhook-Timestamp:?\s+)[0-9]{10}\b/g, "<seconds>")
      .replaceAll(/\bv1=[0-9a-f]{5}…/g, "v1=<hex>…")
      .replaceAll(/\b[0-9]{2}:[0-9]{2}:[0-9]{2}\b/g, "<time>")
      .replaceAll(/\b[0-9]+(?:\.[0-9])?(?= ms\b)/g, "<ms>")
      // Made-up records differ in length from run to run.
      .replaceAll(/(?<=v1=<hex>…; )[0-9]+(?= bytes\b)/g, "<n>")
      // In a column of durations.
      .replaceAll(/ [0-9]+\.[0-9](?=\s)/g, " <ms>")
      .replaceAll(/\s+/g, " ")
      .trim()
  );
}
