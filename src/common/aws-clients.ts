import { invalidOption } from "./errors.js";
import { missingMethod, unsupportedVersion } from "./option-checks.js";

/** What each call of a client of the AWS SDK takes beside its input. */
export interface CallOptions {
  abortSignal: AbortSignal;
}

/**
 * Throws `ConfigurationError` unless `client` is a `name` of the AWS SDK 3 with all of `methods`. `instead`: what else
 * users pass by mistake, for the message.
 */
export function checkAwsClient(
  client: unknown,
  name: string,
  methods: readonly string[],
  instead = "",
): void {
  const peer = `@aws-sdk/client-${name.toLowerCase()}`;
  // That of the AWS SDK 2 has the methods too, but no `send`, and returns no promises.
  const missing = missingMethod(client, ["send", ...methods]);
  if (missing === undefined) return;
  if (missing === "send" && missingMethod(client, methods) === undefined) {
    throw unsupportedVersion("client", "aws-sdk 2", `${peer} 3 and later`);
  }
  throw invalidOption(
    `client must be ${name === "SQS" ? "an" : "a"} ${name} of ${peer} 3; this one has no method ${missing}. ` +
      `Write new ${name}(config) in place of new ${name}Client(config), which takes the same config${instead}`,
  );
}
