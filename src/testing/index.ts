export { createSender } from "./sender.js";
export { SendError, type Sender, type SenderOptions, type Target } from "./target.js";
export { outcomeOf, type HeaderLine, type WireAnswer, type WireRequest } from "./wire.js";
