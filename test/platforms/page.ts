import type { PlatformResult } from "./platform.js";
import { platformTable } from "./table.js";

/** `docs/platforms.md`. */
export function platformPage(results: readonly PlatformResult[], date: string): string {
  return `# Platforms

Each platform in this table was started on ${date} and received every case of \`receiverConformance\`: the framework or runtime itself, and for a cloud its runtime, its emulator or its local server, with a small host in front where it has none. \`npm run platforms\` runs them and writes this page. How to mount a receiver on each: [Frameworks, runtimes and hosts](frameworks.md).

${platformTable(results)}

- Glue lines: the lines of code in the file that mounts the receiver.
- Not judged: cases whose result cannot be seen from outside. The examples with a queue answer before they handle, and their handlers are their own.
- A case that a remark names does not reach the receiver: the platform answers that request itself, or the queue of the example does not take the body.

The same command runs the unit tests on Node 20, 22, 24 and 26, with both crypto backends.
`;
}
