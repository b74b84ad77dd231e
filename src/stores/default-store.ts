import { environmentVariable, isClusterWorker } from "../common/runtime.js";
import type { DeliveryStore } from "./delivery-store.js";
import { memoryStore } from "./memory-store.js";
import { onReceiver } from "./store-warnings.js";

/**
 * The store of a receiver that is given none: `memoryStore()`. Warns where the next duplicate is likely
 * to reach another process, which does not know what this one has handled.
 */
export function defaultStore(): DeliveryStore {
  const store = memoryStore();
  const platform = findPlatform();
  if (platform !== undefined) {
    onReceiver(store, (warn) => {
      warn(
        `no store is given, so handled ids are kept in this process only, and this is ${platform}: a ` +
          "duplicate that reaches another process runs again. Pass a store that all processes share: " +
          "redisStore, postgresStore or sqliteStore (on one host); or give memoryStore() to accept it",
      );
    });
  }
  return store;
}

/** What sets these runs an application in several processes, one after the other or at the same time. */
const PLATFORM_BY_VARIABLE = {
  AWS_LAMBDA_FUNCTION_NAME: "AWS Lambda",
  K_SERVICE: "Google Cloud Run",
  KUBERNETES_SERVICE_HOST: "Kubernetes",
};

function findPlatform(): string | undefined {
  if (isClusterWorker()) return "a worker of node:cluster";
  for (const [variable, platform] of Object.entries(PLATFORM_BY_VARIABLE)) {
    if ((environmentVariable(variable) ?? "") !== "") return platform;
  }
  return undefined;
}
