import * as fc from "fast-check";
import { expect, test } from "vitest";
import { RecentMap } from "../../../src/common/recent-map.js";

test("as a property, a RecentMap holds what a Map holds", () => {
  const key = fc.constantFrom("a", "b", "c", "d");
  const step = fc.oneof(
    fc.record({ call: fc.constant("set" as const), key, value: fc.nat(9) }),
    fc.record({ call: fc.constantFrom("delete" as const, "deleteWhere" as const), key }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const recent = new RecentMap<number>();
      const model = new Map<string, number>();
      for (const one of steps) {
        if (one.call === "set") {
          recent.set(one.key, one.value);
          model.set(one.key, one.value);
        } else if (one.call === "delete") {
          expect(recent.delete(one.key)).toBe(model.delete(one.key));
        } else {
          const isEven = (value: number) => value % 2 === 0;
          recent.deleteWhere(isEven);
          for (const [name, value] of model) if (isEven(value)) model.delete(name);
        }
        expect(recent.size).toBe(model.size);
        expect(["a", "b", "c", "d"].map((name) => recent.get(name))).toEqual(
          ["a", "b", "c", "d"].map((name) => model.get(name)),
        );
      }
    }),
    { seed: 20_261_130, numRuns: 2_000 },
  );
});
