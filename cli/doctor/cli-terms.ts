import type { ConformanceCaseReport } from "../../kit/conformance/run-conformance.js";

/** The options of `receiverConformance` that its texts name, as options of the command line. */
const OPTIONS: Readonly<Record<string, string>> = {
  handled: "--handled",
  whileFailing: "--while-failing-on and --while-failing-off",
  whileSlow: "--while-slow-on and --while-slow-off",
  handledWithinMs: "--handled-within",
  types: "--type",
  timeoutMs: "--timeout",
  maxBodyBytes: "--max-body-bytes",
  skipTlsVerification: "--insecure",
  secret: "--secret-file",
};

/** A case's report whose texts speak of options of the command line. */
export function inCliTerms(end: ConformanceCaseReport): ConformanceCaseReport {
  const { reason } = end;
  return {
    ...end,
    why: translated(end.why),
    fix: translated(end.fix),
    ...(reason === undefined ? {} : { reason: translated(reason) }),
  };
}

function translated(text: string): string {
  return (
    text
      // The probes of the command line name themselves in their errors.
      .replace(/^the option \w+ failed: (?=--)/, "")
      .replace(
        /\b(?:the options? |(?<=\blet ))(\w+)/g,
        (whole, name: string) => OPTIONS[name] ?? whole,
      )
  );
}
