import type { PlatformResult } from "./platform.js";
import { platformTable } from "./table.js";

/** `docs/platforms.md`. */
export function platformPage(results: readonly PlatformResult[], date: string): string {
  return `# Platforms

Every platform here was started for real on ${date}, and got every case of \`receiverConformance\`. \`npm run platforms\` runs them and writes this page.

"Glue lines" are the lines of code that a partner writes beside the receiver. "Not judged" are cases whose result could not be seen. A case in the remark is one that the platform answers itself, before the receiver sees the request.

${platformTable(results)}
`;
}
