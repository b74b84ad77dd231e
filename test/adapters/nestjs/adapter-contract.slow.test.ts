import { describe, expect, it } from "vitest";
import { adapterContract } from "../../support/adapters/adapter-contract.js";
import { directTarget } from "../../support/adapters/target-kinds.js";
import { nestPlatforms } from "../../support/nestjs/nest-platforms.js";
import { nestTarget } from "../../support/nestjs/nest-app.js";

const targets = nestPlatforms.map(([name, create]) => nestTarget(name, create));

describe.each(adapterContract)("$id: $title", (adapterCase) => {
  it.each(targets)(
    `Nest on $name gives the same answers as the receiver itself: ${adapterCase.title}`,
    async (target) => {
      const answers = await adapterCase.run(directTarget);
      expect(await adapterCase.run(target)).toEqual(answers);
    },
  );
});
