import { exampleRow } from "../example-row.js";
import { installedVersion } from "../install.js";
import type { Platform } from "../platform.js";

const BEYOND_BMP =
  "500 to characters beyond U+FFFF, which the emulator refuses and SQS takes, by its documents";

/** A row of its own beside those of `lambda`, because the function answers once SQS has the delivery. */
export const rows: readonly Platform[] = [
  exampleRow({
    name: "AWS Lambda with SQS and DynamoDB",
    folder: "sqs",
    needs: ["dynamodb"],
    example: "lambda-sqs.ts",
    starter: "lambda.ts",
    tooLarge: "409 to a body over 190 kB, since a message of SQS has at most 256 KiB",
    ownAnswers: { non_ascii: BEYOND_BMP, split_characters: "as `non_ascii`" },
    version: () => `fauxqs ${installedVersion("sqs", "fauxqs")}`,
    remark: "`examples/lambda-sqs.ts` as it is, on emulators",
  }),
];
