import * as ioredis from "ioredis";
import { redisStore } from "identity-gateway-webhooks/redis";

const { Redis = ioredis.default } = ioredis;

export const openStore = (address) => redisStore({ client: new Redis(address) });
