import { transform } from "esbuild";
import { expect, onTestFinished, test } from "vitest";
import { createGatewayApi, sampleAlarm } from "../../kit/index.js";
import { createManagementClient, crmLogin } from "../../src/management/index.js";
import { readMarkdown, sectionOf } from "../support/package/markdown.js";

const baseUrl = "https://gateway.example";
const page = sectionOf(readMarkdown("docs/handlers.md"), "## Close an alarm");

type CloseAlarm = (accountId: number, alarmId: number) => Promise<unknown>;

/** `closeAlarm` as it stands in the page, with a client of this gateway. */
async function closeAlarmOn(fetch: (url: string, init: RequestInit) => Promise<Response>) {
  const { token } = await crmLogin({ baseUrl, credentials: {}, fetch });
  const [snippet = ""] = page.snippets("ts");
  const { code } = await transform(snippet, { loader: "ts", format: "cjs" });
  const module: { exports: { closeAlarm?: CloseAlarm } } = { exports: {} };
  const imported = {
    createManagementClient: () => createManagementClient({ baseUrl, token, fetch }),
  };
  // oxlint-disable-next-line typescript/no-implied-eval -- the code of our own page
  const run = new Function("module", "require", code) as (...given: unknown[]) => void;
  run(module, () => imported);
  if (module.exports.closeAlarm === undefined) throw new Error("the page has no closeAlarm");
  return module.exports.closeAlarm;
}

test("ten mail scanners that open the page of an alarm close nothing, and the person's POST closes it", async () => {
  const gateway = createGatewayApi();
  onTestFinished(() => gateway.close());
  const alarm = sampleAlarm({ id: 7, account_id: 1007 });
  await gateway.twin.deliver({ alarm });
  const calls: string[] = [];
  const closeAlarm = await closeAlarmOn((url, init) => {
    calls.push(new URL(url).pathname);
    return gateway.fetch(url, init);
  });
  calls.length = 0;
  /** The page of an alarm, as the section says: it shows the form on a GET, and closes on a POST alone. */
  const respond = async ({ method }: Request): Promise<Response> => {
    if (method === "POST") await closeAlarm(1007, 7);
    return new Response('<form method="post"><button>Close</button></form>');
  };
  for (let scanner = 0; scanner < 10; scanner++) {
    for (const method of ["GET", "HEAD"]) {
      await respond(new Request("https://partner.example/alarms/7", { method }));
    }
  }
  expect(calls).toEqual([]);
  await respond(new Request("https://partner.example/alarms/7", { method: "POST" }));
  expect(calls).toEqual(["/api/v1/account/1007/alarms/7/close"]);
});
