import { Controller, Inject, Injectable, Module, Scope, type Type } from "@nestjs/common";
import { describe, expect, it } from "vitest";
import { OnAlarm, OnOnlineDataEvent, OnUnrecognized } from "../../../adapters/nestjs/index.js";
import {
  ConfigurationError,
  type Alarm,
  type DeliveryContext,
  type OnlineDataEvent,
  type UnrecognizedDelivery,
} from "../../../src/index.js";
import {
  PATH,
  decorate,
  nestStarter,
  send,
  type NestAppOptions,
} from "../../support/nestjs/nest-app.js";
import { nestPlatforms } from "../../support/nestjs/nest-platforms.js";
import { onlineDataEvent } from "../../support/deliveries.js";

/** Sends a signed Online Data event. */
function sendEvent(url: string, id: string, type: string): Promise<string> {
  const body = JSON.stringify({ event: onlineDataEvent(type) });
  return send(url, { id, type: "delete_my_data_event", body });
}

/** A class whose method `handle` takes the alarms, or what the decorator says. */
function handlerClass(
  handle: (...given: never[]) => unknown,
  decorator: unknown = OnAlarm(),
): Type {
  class Handling {
    handle(...given: never[]): unknown {
      return handle(...given);
    }
  }
  Injectable()(decorate(Handling, { handle: [decorator] }));
  return Handling;
}

/** What the handlers were called with, and by which method. */
class Ledger {
  readonly entries: string[] = [];
}
Injectable()(Ledger);

class Handlers {
  constructor(private readonly ledger: Ledger) {}
  alarm(alarm: Alarm, { id }: DeliveryContext): void {
    this.ledger.entries.push(`alarm ${String(alarm.account_id)} ${id}`);
  }
  reappeared(event: OnlineDataEvent): void {
    this.ledger.entries.push(`reappeared ${event.type}`);
  }
  others(event: OnlineDataEvent): Promise<void> {
    this.ledger.entries.push(`other ${event.type}`);
    return Promise.resolve();
  }
  unrecognized({ body }: UnrecognizedDelivery, { rawBody }: DeliveryContext): void {
    this.ledger.entries.push(`unrecognized ${String(body)} ${rawBody.length}`);
  }
}
Injectable()(
  decorate(Handlers, {
    alarm: [OnAlarm()],
    reappeared: [OnOnlineDataEvent("DATA_REAPPEARED"), OnOnlineDataEvent("PERSONAL_DATA_FOUND")],
    others: [OnOnlineDataEvent()],
    unrecognized: [OnUnrecognized()],
  }),
);
Inject(Ledger)(Handlers, undefined, 0);

/** A singleton provider with a method for alarms. */
function alarmHandlers(name: string, scope?: Scope): Type {
  const Named = { [name]: class {} }[name] as Type;
  Object.defineProperty(Named.prototype, "handle", { value: () => undefined, configurable: true });
  Injectable(scope === undefined ? {} : { scope })(decorate(Named, { handle: [OnAlarm()] }));
  return Named;
}

describe.each(nestPlatforms)("handlers of a Nest app on %s", (_, create) => {
  const start = nestStarter(create);
  const refusal = async (options: NestAppOptions): Promise<ConfigurationError> => {
    const error: unknown = await start(options).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConfigurationError);
    return error as ConfigurationError;
  };

  it("each delivery reaches the method with its decorator, which uses what its class injects", async () => {
    const { app, url } = await start({ providers: [Ledger, Handlers] });
    const answers = [
      await send(url + PATH, { id: "a" }),
      await sendEvent(url + PATH, "b", "DATA_REAPPEARED"),
      await sendEvent(url + PATH, "c", "PERSONAL_DATA_FOUND"),
      await sendEvent(url + PATH, "d", "DATA_DELETED"),
      await sendEvent(url + PATH, "e", "ADDED_LATER"),
      await send(url + PATH, { id: "f", body: "[]" }),
    ];
    expect(answers).toEqual(Array(6).fill('200 {"outcome":"handled"}'));
    expect(await send(url + PATH, { id: "a" })).toBe('200 {"outcome":"duplicate"}');
    expect(app.get(Ledger).entries).toEqual([
      "alarm 42 a",
      "reappeared DATA_REAPPEARED",
      "reappeared PERSONAL_DATA_FOUND",
      "other DATA_DELETED",
      "other ADDED_LATER",
      "unrecognized  2",
    ]);
  });

  it("a handler may be in any module, in a controller, and behind an alias", async () => {
    const handled: string[] = [];
    const InModule = handlerClass(() => handled.push("provider of a module"));
    class FeatureModule {}
    Module({ providers: [InModule, { provide: "alias", useExisting: InModule }] })(FeatureModule);
    const InController = handlerClass(() => handled.push("controller"), OnOnlineDataEvent());
    Controller("unused")(InController);

    const { url } = await start({ imports: [FeatureModule], controllers: [InController] });
    await send(url + PATH);
    await sendEvent(url + PATH, "b", "DATA_DELETED");
    expect(handled).toEqual(["provider of a module", "controller"]);
  });

  it("a class inherits the handlers of the class that it extends, and may replace their methods", async () => {
    const handled: string[] = [];
    class Base {
      handle(): void {
        handled.push("base");
      }
      other(): void {
        handled.push("base");
      }
    }
    decorate(Base, { handle: [OnAlarm()], other: [OnOnlineDataEvent()] });
    class Extended extends Base {
      override handle(): void {
        handled.push("extended");
      }
    }
    Injectable()(decorate(Extended, { handle: [OnAlarm()] }));
    const { url } = await start({ providers: [Extended] });
    await send(url + PATH);
    await sendEvent(url + PATH, "b", "DATA_DELETED");
    expect(handled).toEqual(["extended", "base"]);
  });

  it("another decorator that replaces the method keeps it a handler", async () => {
    const handled: string[] = [];
    class Wrapped {
      handle(): void {
        handled.push("method");
      }
    }
    const wrap: MethodDecorator = (_target, _name, descriptor) => {
      const method = descriptor.value as () => void;
      const wrapped = function (this: unknown): void {
        handled.push("wrapper");
        method.call(this);
      };
      descriptor.value = wrapped as never;
    };
    Injectable()(decorate(Wrapped, { handle: [wrap, OnAlarm()] }));
    const { url } = await start({ providers: [Wrapped] });
    await send(url + PATH);
    expect(handled).toEqual(["wrapper", "method"]);
  });

  it("two methods for the same deliveries are refused at the start", async () => {
    const { code, message } = await refusal({
      providers: [alarmHandlers("First"), alarmHandlers("Second")],
    });
    expect(code).toBe("duplicate_handler");
    expect(message).toContain("@OnAlarm() is on First.handle of AppModule");
    expect(message).toContain("on Second.handle of AppModule");
  });

  it("a class with a handler that two modules provide is refused at the start", async () => {
    const Twice = alarmHandlers("Twice");
    class FeatureModule {}
    Module({ providers: [Twice] })(FeatureModule);
    const { code, message } = await refusal({ imports: [FeatureModule], providers: [Twice] });
    expect(code).toBe("duplicate_handler");
    expect(message).toContain("FeatureModule");
  });

  it.each([Scope.REQUEST, Scope.TRANSIENT])(
    "a handler of scope %s is refused at the start",
    async (scope) => {
      const { code, message } = await refusal({ providers: [alarmHandlers("Scoped", scope)] });
      expect(code).toBe("invalid_handler");
      expect(message).toContain("@OnAlarm() is on Scoped.handle of AppModule");
    },
  );

  it("a handler that injects a request-scoped provider is refused at the start", async () => {
    class PerRequest {}
    Injectable({ scope: Scope.REQUEST })(PerRequest);
    const Injecting = alarmHandlers("Injecting");
    Inject(PerRequest)(Injecting, undefined, 0);
    const { code } = await refusal({ providers: [PerRequest, Injecting] });
    expect(code).toBe("invalid_handler");
  });

  it("an app without a handler is refused at the start", async () => {
    expect((await refusal({})).code).toBe("missing_handlers");
  });

  it("a marked member that is no function is refused at the start", async () => {
    class Broken {
      handle = "no function";
    }
    Injectable()(decorate(Broken, { handle: [OnAlarm()] }));
    expect((await refusal({ providers: [Broken] })).message).toContain("Broken.handle");
  });
});

it("a decorator on a static method is refused when the class is defined", () => {
  class Static {
    static handle(): void {
      // Never called.
    }
  }
  const descriptor = Object.getOwnPropertyDescriptor(Static, "handle") as never;
  expect(() => OnAlarm()(Static, "handle", descriptor)).toThrow(ConfigurationError);
});
