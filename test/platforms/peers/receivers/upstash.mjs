import { Redis } from "@upstash/redis";
import { redisStore } from "identity-gateway-webhooks/redis";

export const openStore = (address) =>
  redisStore({ client: new Redis({ ...address, automaticDeserialization: false }) });
