import type { FactoryProvider, ModuleMetadata } from "@nestjs/common";
import { invalidOption } from "../../src/common/errors.js";
import { ownOptions } from "../../src/common/option-checks.js";
import type { WebhookReceiverOptions } from "../../src/options/options.js";
import { OPTION_NAMES } from "../../src/options/settings.js";
import type { DeliveryStore } from "../../src/stores/delivery-store.js";
import type { TransactionalStore } from "../../src/stores/transactional-store.js";
import type { BodyOptions } from "../http/body-limits.js";

/** For each member of the union, so that the choice between a secret and none remains. */
type WithoutHandlers<Options> = Options extends unknown
  ? Omit<Options, "handlers" | "store">
  : never;

/**
 * Options of `WebhookReceiverModule`: those of `createWebhookReceiver`, of which `secret` is required and
 * `handlers` are left out (they are providers), those of every adapter, and the path.
 */
export type WebhookReceiverModuleOptions = BodyOptions & {
  /**
   * The path of the webhook's URL: it begins with `/` and has no parameters. Nest's global prefix and
   * versions are not added to it.
   */
  path: string;
  /**
   * Remembers which deliveries were handled. Default `memoryStore()`, which knows only this process and
   * ends with it. With a `TransactionalStore` the handlers get `context.tx`.
   */
  // The decorators cannot know the type of the transaction.
  // oxlint-disable-next-line typescript/no-explicit-any
  store?: DeliveryStore | TransactionalStore<any> | undefined;
} & WithoutHandlers<WebhookReceiverOptions>;

/** Options of `forRootAsync`: a factory of the options, and what it injects. */
export interface WebhookReceiverModuleAsyncOptions extends Pick<ModuleMetadata, "imports"> {
  /** What `useFactory` takes, in this order. */
  inject?: FactoryProvider["inject"];
  /** Makes the options, once, when the app starts. */
  useFactory: FactoryProvider<
    WebhookReceiverModuleOptions | Promise<WebhookReceiverModuleOptions>
  >["useFactory"];
}

const NAMES = [
  "path",
  ...OPTION_NAMES.filter((name) => name !== "handlers"),
  "bodyTimeoutMs",
  "uploadTimeoutMs",
];

/** Express and Fastify read other characters as patterns, or do not agree on them. */
const PATH = /^\/[\w.~/-]*$/;

/**
 * Checks what is the module's own; the receiver checks the rest when the app starts.
 *
 * @throws ConfigurationError for an unknown option and for a path that cannot be mounted.
 */
export function moduleOptions(given: WebhookReceiverModuleOptions): WebhookReceiverModuleOptions {
  const options = ownOptions("WebhookReceiverModule", given, NAMES);
  const path: unknown = options.path;
  if (typeof path !== "string" || !PATH.test(path)) {
    throw invalidOption(
      'path must be the path of the webhook\'s URL, such as "/webhooks/gateway": letters, digits and -._~/',
    );
  }
  return options;
}
