import { execFile } from "node:child_process";
import { promisify, stripVTControlCharacters } from "node:util";
import { startExpressExample } from "../../test/support/cli/cli-binary.js";
import { TEST_SECRET } from "../../kit/signed-delivery.js";
import { shortenedReport } from "./shortened-report.js";
import { terminalSvg } from "./terminal-svg.js";

/** As the README has it; the example listens on a port that is free. */
const SHOWN_URL = "http://127.0.0.1:3000/webhooks/gateway";

/** The picture of what `doctor` says of the Express example. `binary`: the command line's file. */
export async function doctorPicture(binary: string): Promise<string> {
  const example = await startExpressExample();
  try {
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      [binary, "doctor", example.url],
      {
        env: {
          PATH: process.env["PATH"],
          FORCE_COLOR: "1",
          GATEWAY_WEBHOOK_SECRET: TEST_SECRET,
        },
      },
    );
    const shown = (text: string): string =>
      withoutDurations(text.replaceAll(example.url, SHOWN_URL));
    const said = withoutProgress(shown(stderr)).trim();
    const report = shortenedReport(shown(stdout));
    const result = report.map(stripVTControlCharacters).find((line) => /^[✓✗] /u.test(line)) ?? "";
    return terminalSvg({
      title: "A terminal in which doctor judges the Express example",
      description: `${said} Group by group the report names what the endpoint does right, and at the end what was not proven. The result is: ${result}.`,
      lines: [
        `$ npx identity-gateway-webhooks doctor ${SHOWN_URL}`,
        ...said.split("\n"),
        ...report,
      ],
    });
  } finally {
    example.stop();
  }
}

/** Each run takes another time. */
function withoutDurations(text: string): string {
  return text.replaceAll(/[0-9]+\.[0-9] ms/g, "1.0 ms");
}

/** A busy machine takes so long that doctor says how far it is. */
function withoutProgress(text: string): string {
  return text.replaceAll(/^[0-9]+\/[0-9]+ .*\n?/gm, "");
}
