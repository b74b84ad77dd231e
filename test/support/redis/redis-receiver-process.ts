// A receiver that dies while its handler runs: started by redis-receiver.test.ts with the port of a
// Redis, the delivery id and the lease in milliseconds. Says "running" and goes on for ever.
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
// Again where a busy machine took too long to connect.
while ((await receiver.receive(await delivery({ id }))).outcome === "store_unavailable");
