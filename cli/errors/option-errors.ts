import { ITSELF, type ErrorTable } from "./error-causes.js";

const READ_MESSAGE = "the message names the option and what it must be: change that";

/** Errors that are thrown to the caller: wrong options and wrong values. */
export const OPTION_ERRORS: ErrorTable = {
  AlarmPayloadError: {
    exportedBy: ITSELF,
    where: "thrown by `parseAlarmPayload`",
    codes: {
      empty_payload: {
        meaning: "The payload of the alarm is empty.",
        causes: [
          "the source of the alarm has no details: catch the error and handle the alarm without them",
        ],
      },
      invalid_json: {
        meaning: "The payload of the alarm is not JSON.",
        causes: [
          "the source sends plain text: catch the error and handle the alarm without its details",
          "the payload was changed or cut before it was parsed: pass alarm.payload as it arrived",
        ],
      },
      schema_mismatch: {
        meaning: "The payload of the alarm does not fit the given schema.",
        causes: [
          "the vendor changed its format: see the issues of the error, and make the schema lenient about fields that you do not need",
          "the schema is for another event_type: choose it by alarm.event_type",
        ],
      },
      async_schema: {
        meaning: "The given schema is asynchronous.",
        causes: ["the schema has an asynchronous refinement or transformation: remove it"],
      },
    },
  },
  ConfigurationError: {
    exportedBy: ITSELF,
    where:
      "an option or argument cannot work: thrown when a receiver, store, adapter or inbox is made; rejection of `signDelivery`, `verifySignature`, `migrate`, `purge` and the methods that handle dead deliveries",
    codes: {
      invalid_options: {
        meaning: "The options are missing or are no object.",
        causes: [
          "the function was called without options, or with a value instead of { … }: pass an object",
        ],
      },
      unknown_option: {
        meaning: "An option has a name that does not exist.",
        causes: [
          "the name is misspelt: the message lists all names",
          "the option belongs to another function, or to another version of this library",
        ],
      },
      missing_secret: {
        meaning: "No secret is given.",
        causes: [
          "the environment variable is not set in this process: set it, and check that the .env file is loaded before",
          "a build that runs your modules, as next build and vite build of SvelteKit do: set the variable for the build, too",
          "the webhook has no secret at the gateway: give it one with the command webhooks rotate",
        ],
      },
      unusable_secret: {
        meaning: "A secret is given that cannot be the one of a webhook.",
        causes: [
          "white space or a newline at an end, as a file or echo adds: trim it when you read it",
          'the text "undefined" or "null", which an unset variable becomes in a template: set the variable',
          "an object or a number in place of a string: pass the string",
        ],
      },
      conflicting_secret: {
        meaning: "Both secret and acceptUnsignedDeliveries are given.",
        causes: ["acceptUnsignedDeliveries was left from a first trial: leave it out"],
      },
      missing_handlers: {
        meaning: "There is no handler, so every delivery would be lost.",
        causes: [
          "handlers is missing or empty: name at least new_alarm or delete_my_data_event",
          "NestJS: the class with the decorators is not a provider of a module that is imported",
        ],
      },
      unknown_handler: {
        meaning: "A handler is given for a type that does not exist.",
        causes: [
          "the name is misspelt: the message lists all names",
          "a new type of event that this version does not know: update the library, or use handlers.unrecognized",
        ],
      },
      invalid_handler: {
        meaning: "A handler is not a function that can be called for each delivery.",
        causes: [
          "the imported name is undefined, often because two files import each other: check the import",
          "it is a generator function, whose body would never run: make it an async function",
        ],
      },
      duplicate_handler: {
        meaning: "NestJS: two methods handle the same deliveries.",
        causes: ["two decorators name the same type: keep one, and call the other method from it"],
      },
      invalid_option: {
        meaning: "The value of an option cannot work.",
        causes: [
          `a wrong unit (durations are in milliseconds, sizes in bytes), a wrong type or an impossible combination: ${READ_MESSAGE}`,
        ],
      },
      invalid_store: {
        meaning: "The store does not have the methods of a store.",
        causes: [
          "a client or a pool was passed in place of a store: wrap it, as in redisStore({ client })",
          "the function that makes the store is async and was not awaited",
          "a store of your own lacks a method: test it with deliveryStoreContract",
        ],
      },
      invalid_receiver: {
        meaning: "An adapter or metricsText did not get a receiver.",
        causes: [
          "pass what createWebhookReceiver returned, not its options and not a promise of it",
        ],
      },
      unsupported_platform: {
        meaning: "NestJS runs on an HTTP platform that the module does not know.",
        causes: ["use the platform of Express or Fastify, or mount nodeHandler yourself"],
      },
      unsupported_version: {
        meaning: "A framework, driver or queue is given in a version that cannot work.",
        causes: [
          "the installed version is older or newer than the message says: install a supported one, see docs/platforms.md",
          "a newer version of this library supports it: update the library",
          "a wrapper around the object lacks one of its methods: pass it on",
        ],
      },
    },
  },
  InvalidValueError: {
    exportedBy: ITSELF,
    where: "thrown by `parseGatewayTime`; rejection of `signDelivery`",
    codes: {
      invalid_gateway_time: {
        meaning: "A date has neither of the gateway's two formats.",
        causes: [
          "the field is no date, or is empty: check which field is passed",
          "the date was formatted again: pass it as it arrived",
        ],
      },
      invalid_delivery_id: {
        meaning: "The id to sign is not 1 to 128 characters of [0-9A-Za-z._-].",
        causes: ["an id of your own with other characters: use a UUID"],
      },
      invalid_timestamp: {
        meaning: "The timestamp to sign is not a number of whole Unix seconds.",
        causes: ["milliseconds, such as Date.now(): pass Math.floor(Date.now() / 1000)"],
      },
    },
  },
};
