import { expect, test } from "vitest";
import { textOf } from "../support/package/sources.js";
import { xmlFault } from "../support/xml-fault.js";

const PICTURE = textOf("docs/doctor.svg");

test("the picture of doctor is well-formed, and every text is inside it", () => {
  expect(xmlFault(PICTURE)).toBeUndefined();
  const [, width, height] = /viewBox="0 0 ([0-9]+) ([0-9]+)"/.exec(PICTURE) ?? [];
  const texts = [...PICTURE.matchAll(/ x="([0-9.]+)" y="([0-9]+)" textLength="([0-9.]+)"/g)];
  expect(texts.length).toBeGreaterThan(40);
  for (const [, x, y, length] of texts) {
    expect(Number(x)).toBeGreaterThan(0);
    expect(Number(x) + Number(length)).toBeLessThan(Number(width));
    expect(Number(y)).toBeLessThan(Number(height));
  }
});

test("the picture of doctor describes itself in words and has colours for a dark background", () => {
  expect(PICTURE).toContain('role="img" aria-labelledby="title desc"');
  expect(PICTURE).toMatch(/<desc id="desc">\d+ cases.* \d+ passed, 9 not judged\.<\/desc>/);
  const [light = "", dark = ""] = PICTURE.split("@media (prefers-color-scheme: dark)");
  const used = new Set(PICTURE.match(/(?<=class=")[a-z]+/g));
  for (const name of [...used].filter((one) => one !== "bold")) {
    expect(light).toContain(`.${name} { fill:`);
    expect(dark).toContain(`.${name} { fill:`);
  }
});

test("the picture of doctor names no machine path, no secret and no signature", () => {
  expect(PICTURE).not.toMatch(/\/(?:home|root|tmp|work)\/|whsec_|v1=[0-9a-f]{6}/);
});
