/** Test files for each room, all of them in the set of `npm test`: names in test/ without `.test.ts`. */
export const TESTS: Readonly<Record<string, string>> = {
  receiver: "receiver/**/*,answer/**/*,handling/**/*,telemetry/**/*",
  // What a record has that is not documented is only a line in the log.
  records: "records/**/*,answer/**/*,receiver/**/*,telemetry/**/*",
  // Fingerprints, and how many secrets a type has, are only in the metrics.
  signature: "signature/**/*,options/**/*,answer/**/*,receiver/**/*,telemetry/metrics",
  // The second one has what a host's deadline changes. With all tests of the receiver it takes three times as long.
  handling:
    "handling/**/*,adapters/aws-lambda-time,options/handlers-option,telemetry/metrics,telemetry/spans,telemetry/observation",
  answer:
    "answer/**/*,receiver/**/*,telemetry/**/*,options/**/*,handling/handler-errors,package/docs-tables,package/loggers,adapters/adapter-contract,adapters/lost-answers,adapters/fetch",
  // What a refused request claims is only in the metrics.
  delivery:
    "delivery/**/*,answer/**/*,receiver/**/*,telemetry/metrics,adapters/aws-lambda-time,adapters/own-adapter,adapters/upload-traces",
  stores: "stores/memory/**/*,stores/sqlite/*",
};
