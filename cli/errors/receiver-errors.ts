import { ITSELF, oneCode, type ErrorTable } from "./error-causes.js";

const COMMAND = "npx identity-gateway-webhooks";

/** Errors of a receiver at work, and those that a handler throws or meets. */
export const RECEIVER_ERRORS: ErrorTable = {
  DeadlineError: oneCode(
    ITSELF,
    "a handler, a store, a secret function or the load of the record schemas took too long: in `onOutcome`, the log, as `signal.reason`",
    "deadline_exceeded",
    {
      meaning: "A call took longer than its limit; the message names both.",
      causes: [
        "the handler waits for something slow: give its calls time limits of their own, pass context.signal on, or raise handlerTimeoutMs",
        "the store or the secret function is slow or not reachable: repair it; dependencyTimeoutMs is the limit",
        "the process is starved of processor time, so every limit passes: look for blocking work",
      ],
    },
  ),
  DiscardDelivery: oneCode(
    ITSELF,
    "thrown by your handler: handle the delivery never again",
    "discard_delivery",
    {
      meaning: "Your handler said that this delivery must never be handled.",
      causes: ["your handler throws it: its reason and cause say why"],
    },
  ),
  LeaseLostError: oneCode(
    ITSELF,
    "`signal.reason`: another process may be handling the delivery",
    "lease_lost",
    {
      meaning: "The lease on the delivery ended while its handler ran.",
      causes: [
        "renewals did not reach the store for a whole lease: see store_unavailable in the log",
        "the process was paused for longer than leaseMs (a frozen function, a sleeping machine, blocking work): raise leaseMs or remove the pause",
      ],
    },
  ),
  MemoryStoreFullError: oneCode(
    ITSELF,
    "`store_unavailable`: `maxEntries` claims are in flight",
    "memory_store_full",
    {
      meaning: "The memory store holds as many claims in flight as maxEntries allows.",
      causes: [
        "handlers hang and never settle: give their calls time limits, or lower handlerMaxMs",
        "maxEntries is smaller than maxConcurrentDeliveries: raise maxEntries",
      ],
    },
  ),
  NoUsableSecretError: oneCode(
    ITSELF,
    "`secret_unavailable`: the secret function returned no usable secret",
    "no_usable_secret",
    {
      meaning: "The secret function returned something that holds no usable secret.",
      causes: [
        "it returned an empty string or an object: return the string, or a list of strings",
        "the secret is stored with white space at an end: trim it",
      ],
    },
  ),
  RetryLater: oneCode(
    ITSELF,
    "thrown by your handler: send the delivery again later",
    "retry_later",
    {
      meaning: "Your handler asked for the delivery to be sent again later.",
      causes: ["your handler throws it: its reason and cause say why"],
    },
  ),
  SchemaLoadError: oneCode(
    ITSELF,
    "`internal_error`: a record needed conversion or validation, and the schemas could not be loaded; `cause` is the error of the import",
    "schema_load_failed",
    {
      meaning: "The file with the record schemas, or zod, could not be loaded.",
      causes: [
        "a bundler left out the file that is imported on demand: bundle it, or mark this package as external",
        "zod is missing from the deployment: install the dependencies of this package too",
      ],
    },
  ),
  ThrewUndefinedError: oneCode(
    ITSELF,
    "`handler_failed`: the handler threw `undefined`",
    "threw_undefined",
    {
      meaning: "The handler threw undefined, or its promise rejected with it.",
      causes: [
        "a reject() without a reason in the handler or in what it calls: reject with an Error",
      ],
    },
  ),
  TransactionLostError: oneCode(
    ITSELF,
    "`signal.reason`: nothing that the handler writes will be kept",
    "transaction_lost",
    {
      meaning: "The transaction of the delivery ended before its handler did.",
      causes: [
        "the handler ran longer than handlerMaxMs, so its transaction was rolled back",
        "the connection to the database broke: the delivery is sent again",
      ],
    },
  ),
  UnexpectedResultError: oneCode(
    ITSELF,
    "`store_unavailable`: a store or its client returned something that its contract does not allow, or an item of a DynamoDB table was written by another program",
    "unexpected_result",
    {
      meaning: "A store or its client returned what the contract of stores does not allow.",
      causes: [
        "a store of your own has a bug: test it with deliveryStoreContract",
        "the client transforms replies (a wrapper, a JSON option): give the store a plain client",
        "another program writes into the store's table or keys: give it a table or a key prefix of its own",
      ],
    },
  ),
  NoHttpEventError: oneCode(
    ["…/aws-lambda"],
    "rejection of a `lambdaHandler`: the function got an event that is no HTTP request; check its triggers",
    "no_http_event",
    {
      meaning: "The function was invoked with an event that is no HTTP request.",
      causes: [
        "a test event of the console or a schedule: use the template of API Gateway, or send a delivery to the URL",
        "a trigger such as SQS: give it a function of its own",
      ],
      command: `${COMMAND} send <url>`,
    },
  ),
};
