import { whereToRead } from "../common/pages.js";
import { isClusterWorker, isVariableSet } from "../common/runtime.js";
import type { DeliveryStore } from "./delivery-store.js";
import { memoryStore } from "./memory-store.js";

/**
 * The store of a receiver without the option `store`: `memoryStore()`. Warns on platforms that run several
 * processes, because a redelivery may reach a process that does not know the id.
 */
export function defaultStore(): DeliveryStore {
  const store = memoryStore();
  const platform = findPlatform();
  if (platform === undefined) return store;
  return {
    ...store,
    connectReceiver(receiver) {
      store.connectReceiver?.(receiver);
      receiver.warn(
        `no store is given, so handled ids are kept in this process only, and this is ${platform}: a ` +
          "duplicate that reaches another process runs again. Pass a store that all processes share, or " +
          `memoryStore(). To find out more: ${whereToRead("stores")}`,
      );
    },
  };
}

/**
 * The platforms that run several processes of an application, at once or in turn, by an environment
 * variable that each of them sets.
 */
const PLATFORM_BY_VARIABLE = {
  AWS_LAMBDA_FUNCTION_NAME: "AWS Lambda",
  K_SERVICE: "Google Cloud Run",
  KUBERNETES_SERVICE_HOST: "Kubernetes",
};

function findPlatform(): string | undefined {
  if (isClusterWorker()) return "a worker of node:cluster";
  for (const [variable, platform] of Object.entries(PLATFORM_BY_VARIABLE)) {
    if (isVariableSet(variable)) return platform;
  }
  return undefined;
}
