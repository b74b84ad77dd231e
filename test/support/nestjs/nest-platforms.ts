import type { AbstractHttpAdapter } from "@nestjs/core";
import { ExpressAdapter } from "@nestjs/platform-express";
import { FastifyAdapter } from "@nestjs/platform-fastify";

/** The platforms of Nest. */
export const nestPlatforms: readonly (readonly [
  name: string,
  create: () => AbstractHttpAdapter,
])[] = [
  ["express", () => new ExpressAdapter()],
  ["fastify", () => new FastifyAdapter()],
];
