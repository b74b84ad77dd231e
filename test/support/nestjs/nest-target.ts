import { Injectable } from "@nestjs/common";
import type { AbstractHttpAdapter } from "@nestjs/core";
import { OnAlarm } from "../../../adapters/nestjs/index.js";
import type { AdapterTarget } from "../adapters/adapter-contract.js";
import { http1Client } from "../adapters/http-clients.js";
import { decorate, ReceiverHolder, startNest } from "./nest-app.js";

class NoHandlers {
  handle(): void {
    throw new Error("the receiver of the case takes every delivery");
  }
}
Injectable()(decorate(NoHandlers, { handle: [OnAlarm()] }));

/** A Nest app whose module has made way for the receiver of a case. */
export function nestTarget(name: string, create: () => AbstractHttpAdapter): AdapterTarget {
  return {
    name,
    async open(receiver) {
      const { maxBodyBytes } = receiver;
      const { app, url, close } = await startNest(create(), {
        providers: [NoHandlers, ReceiverHolder],
        receiver: { path: "/", maxBodyBytes },
      });
      Object.assign(app.get(ReceiverHolder).receiver, receiver);
      const client = http1Client(Number(new URL(url).port));
      return {
        target: url,
        send: client.send,
        connections: client.connections,
        close() {
          client.close();
          return close();
        },
      };
    },
  };
}
