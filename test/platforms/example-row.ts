import { fileURLToPath } from "node:url";
import type { Platform } from "./platform.js";
import { startServer } from "./start-server.js";

const EXAMPLES = "../../../examples";
/** Cases that also send a body of 200 KB. */
const ALSO_BIG = ["duplicate_handled_once", "concurrent_duplicates_handled_once"];

/** The row of an example with a queue, which its starter in `examples/demo/` runs on emulators. */
export function exampleRow({
  example,
  starter,
  tooLarge,
  ...row
}: Omit<Platform, "app" | "isSeenFromOutside" | "start"> & {
  readonly example: string;
  readonly starter: string;
  /** Why it refuses a body of 200 KB. */
  readonly tooLarge: string;
}): Platform {
  const program = fileURLToPath(new URL(`../../examples/demo/${starter}`, import.meta.url));
  const args = () => ["--import", "tsx", program];
  const { folder } = row;
  return {
    ...row,
    app: `${EXAMPLES}/${example}`,
    isSeenFromOutside: true,
    ownAnswers: {
      ...row.ownAnswers,
      big_alarm: tooLarge,
      ...Object.fromEntries(ALSO_BIG.map((id) => [id, "as `big_alarm`"])),
    },
    start: (ledgerUrl) =>
      startServer(
        { folder, args, path: "/webhooks/gateway", readyText: "listening on" },
        ledgerUrl,
      ),
  };
}
