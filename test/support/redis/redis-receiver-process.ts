// A receiver whose process is killed while its handler runs. Started by test/stores/redis/receiver.test.ts
// with the port of a Redis, the delivery id and the lease in milliseconds. Prints "running" and never ends.
import { Redis } from "ioredis";
import { redisStore } from "../../../src/stores/redis/index.js";
import { alarmReceiver } from "../alarm-receiver.js";
import { never } from "../deferred.js";
import { delivery } from "../deliveries.js";

const [port, id = "", leaseMs] = process.argv.slice(2);
const client = new Redis(Number(port));
const receiver = alarmReceiver(
  () => {
    process.stdout.write("running\n");
    return never();
  },
  { store: redisStore({ client }), leaseMs: Number(leaseMs) },
);
// Repeated if a busy machine took too long to connect.
while ((await receiver.receive(await delivery({ id }))).outcome === "store_unavailable");
