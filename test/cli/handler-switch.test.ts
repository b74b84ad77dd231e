import { createServer } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { expect, it } from "vitest";
import { readHandlerSwitch } from "../../cli/doctor/probes.js";
import { deferred } from "../support/deferred.js";
import { listen } from "../support/servers.js";

it("an interruption while the handler is being switched on switches it off after that", async () => {
  const answered: string[] = [];
  const held = deferred();
  const [onArrived, offArrived] = [deferred(), deferred()];
  const server = await listen(
    createServer((req, res) => {
      const answer = () => {
        answered.push(req.url ?? "");
        res.end();
      };
      if (req.url === "/off") {
        offArrived.resolve();
        answer();
      } else {
        onArrived.resolve();
        void held.promise.then(answer);
      }
    }),
  );
  const at = (path: string) => `http://127.0.0.1:${String(server.port)}${path}`;
  const values = {
    "while-failing-on": at("/on"),
    "while-failing-off": at("/off"),
    "while-slow-on": undefined,
    "while-slow-off": undefined,
  };
  const one = readHandlerSwitch("while-failing", values, {});
  const during = one?.during(() => Promise.resolve("worked"));
  await onArrived.promise;
  const restored = one?.restore();
  // Time for an "off" that does not wait.
  await Promise.race([offArrived.promise, wait(300)]);
  held.resolve();
  await Promise.all([during, restored]);
  await server.close();
  expect(answered).toEqual(["/on", "/off"]);
});
