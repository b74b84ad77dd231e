import type { DiscoveryService } from "@nestjs/core";
import { ConfigurationError } from "../../src/common/errors.js";
import type { WebhookHandler, WebhookHandlers } from "../../src/handling/handlers.js";
import { marksOf, type HandlerMark } from "./handler-decorators.js";

type Wrapper = ReturnType<DiscoveryService["getProviders"]>[number];

/** A marked method of a provider or controller. */
interface FoundHandler {
  readonly mark: HandlerMark;
  /** Class, method and module, for messages. */
  readonly place: string;
  readonly handle: WebhookHandler<unknown>;
}

/**
 * The handlers of a receiver: the marked methods of all providers and controllers.
 *
 * @throws ConfigurationError if two methods handle the same deliveries, or if a provider is made anew for
 * each request.
 */
export function findHandlers(discovery: DiscoveryService): WebhookHandlers {
  const found = new Map<string, FoundHandler>();
  for (const candidate of markedMethods(discovery)) {
    const { decorator } = candidate.mark;
    const other = found.get(decorator);
    if (other !== undefined) {
      throw new ConfigurationError(
        "duplicate_handler",
        `${decorator} is on ${other.place} and on ${candidate.place}: a delivery has one handler, because` +
          " a retry would run both again. Let one method call the other; provide its class in one module",
      );
    }
    found.set(decorator, candidate);
  }
  return handlersOf([...found.values()]);
}

function markedMethods(discovery: DiscoveryService): readonly FoundHandler[] {
  const wrappers = [...discovery.getProviders(), ...discovery.getControllers()];
  const instances = new Set<object>();
  return wrappers.flatMap((wrapper) => {
    const instance: unknown = wrapper.instance;
    // An alias (`useExisting`) has the instance of its provider.
    if (typeof instance !== "object" || instance === null || instances.has(instance)) return [];
    instances.add(instance);
    return ownMarks(instance).map((mark) => foundHandler(wrapper, instance, mark));
  });
}

/** A method that is marked again in a class that extends its class counts once. */
function ownMarks(instance: object): readonly HandlerMark[] {
  const marks = marksOf(instance);
  return marks.filter(
    ({ method, decorator }, index) =>
      index === marks.findIndex((mark) => mark.method === method && mark.decorator === decorator),
  );
}

function foundHandler(wrapper: Wrapper, instance: object, mark: HandlerMark): FoundHandler {
  const { method, decorator } = mark;
  const place = `${instance.constructor.name}.${String(method)} of ${wrapper.host?.name ?? "a module"}`;
  if (wrapper.isTransient || !wrapper.isDependencyTreeStatic()) {
    throw new ConfigurationError(
      "invalid_handler",
      `${decorator} is on ${place}, which is transient or request-scoped, or injects a provider that is:` +
        " a delivery is no request of Nest. Make it a singleton; ModuleRef.resolve() makes a scoped provider",
    );
  }
  const handle = (instance as Record<string | symbol, WebhookHandler<unknown>>)[method];
  if (typeof handle !== "function") {
    throw new ConfigurationError("invalid_handler", `${decorator} is on ${place}: no function`);
  }
  return { mark, place, handle: handle.bind(instance) };
}

function handlersOf(found: readonly FoundHandler[]): WebhookHandlers {
  const handlers: Record<string, WebhookHandler<unknown>> = {};
  const eventHandlers: Record<string, WebhookHandler<unknown>> = {};
  for (const { mark, handle } of found) {
    if (mark.eventType === undefined) handlers[mark.handles] = handle;
    else eventHandlers[mark.eventType] = handle;
  }
  if (Object.keys(eventHandlers).length === 0) return handlers;
  return { ...handlers, delete_my_data_event: eventHandlers };
}
