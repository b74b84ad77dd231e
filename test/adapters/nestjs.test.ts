import { ExpressAdapter } from "@nestjs/platform-express";
import { expect, it } from "vitest";
import { adapterContract } from "../support/adapters/adapter-contract.js";
import { directTarget } from "../support/adapters/target-kinds.js";
import { nestTarget } from "../support/nestjs/nest-app.js";

// In `nestjs/` are the tests with each major version of Nest, and on Fastify.
const nest = nestTarget("Nest on express", () => new ExpressAdapter());

it.each(adapterContract)(
  "Nest gives the same answers as the receiver itself: $title",
  async (adapterCase) => {
    expect(await adapterCase.run(nest)).toEqual(await adapterCase.run(directTarget));
  },
);
