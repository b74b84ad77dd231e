import type { Answer, ColdDelivery, ColdStart } from "./delivery.js";

// Nothing is imported before this line, so that a contender's own loading is measured completely.
const bootMs = performance.now();
const [contender = "", delivery = ""] = process.argv.slice(2);
const { answer } = (await import(`./contenders/${contender}.js`)) as { readonly answer: Answer };
const isGood = await answer(JSON.parse(delivery) as ColdDelivery);
const coldStart: ColdStart = { bootMs, answerMs: performance.now() - bootMs, isGood };
process.stdout.write(JSON.stringify(coldStart));
