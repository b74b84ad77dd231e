import { errorText } from "../error-text.js";
import type { Reply } from "./reply.js";
import type { Trial } from "./trial.js";

/** The options that change how the receiver's handler behaves while work is done. */
export type HandlerOption = "whileFailing" | "whileSlow";

/** Replies of the work, whether or not the option passes them on. The rule needs the option. */
export async function whileHandler(
  trial: Trial,
  option: HandlerOption,
  work: () => Promise<readonly Reply[]>,
): Promise<readonly Reply[]> {
  let replies: readonly Reply[] | undefined;
  try {
    await trial.settings[option]?.(async () => {
      replies = await work();
    });
  } catch (error) {
    throw trial.failure(`the option ${option} failed: ${errorText(error)}`);
  }
  if (replies === undefined) {
    throw trial.failure(`the option ${option} has to await the work that it is given`);
  }
  return replies;
}
