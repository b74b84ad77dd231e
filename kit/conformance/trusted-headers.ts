import { madeUpDeliveryId } from "../random.js";
import type { HeaderLine } from "../sending/wire.js";
import type { CaseContext } from "./case-context.js";
import {
  each,
  OTHER_SECRET,
  withMember,
  withRecordMember,
  type Delivery,
  type MakeDelivery,
  type Named,
  type NamedDeliveries,
} from "./test-deliveries.js";

const ADDRESS =
  "X-Forwarded-For X-Real-IP X-Client-IP X-Cluster-Client-IP X-Remote-IP X-Remote-Addr X-Originating-IP X-Original-Forwarded-For True-Client-IP CF-Connecting-IP Fastly-Client-IP";
const SWITCH =
  "X-Test X-Test-Mode X-Testing X-Debug X-Debug-Mode X-Dev X-Dry-Run X-Mock X-Sandbox X-Internal X-Internal-Request X-Trusted X-Admin X-Bypass X-Skip-Auth X-Skip-Verification X-Skip-Signature X-No-Verify X-Health-Check X-Healthcheck X-Monitoring X-Simulated X-Webhook-Test X-Webhook-Debug X-Webhook-Replay X-Replay X-Smoke-Test X-CI";
const VERDICT =
  "X-Verified X-Signature-Verified X-Signature-Valid X-Webhook-Verified X-Authenticated X-Webhook-Retry X-Retry X-Is-Retry X-Redelivery";
const ATTEMPT = "X-Webhook-Attempt X-Attempt X-Delivery-Attempt X-Retry-Count";
/** Names of tokens, keys and secrets are made of a part like these and one of the three words. */
const OF_SERVICES =
  "X- X-Internal- X-Service- X-Webhook- X-Gateway- X-Auth- X-Access- X-Api- X-Admin- X-Master- X-Client- X-App- X-System- X-Cron- X-Scheduler- X-Functions- X-Shared- X-Signing- X-Signature- X-Hub-".split(
    " ",
  );
const ofServices = (word: string): string => OF_SERVICES.map((part) => part + word).join(" ");
/** A proxy's genuine delivery came from there. */
export const ADDRESS_OF_GENUINE = "203.0.113.7";
const ENVIRONMENT = "X-Environment X-Env X-Stage X-App-Env";

/**
 * Headers for which real receivers switch a check off, and which anyone can send. A line is one request. Between bars
 * stand names that have the value after the colon in common.
 */
const SETS = `
Authorization: Bearer 0123456789abcdef | Cookie: session=1; admin=1; secret=${OTHER_SECRET}; webhook_secret=${OTHER_SECRET}; token=${OTHER_SECRET}; key=${OTHER_SECRET}
Authorization: Basic YWRtaW46YWRtaW4= | X-Remote-User X-Forwarded-User X-Authenticated-User: admin
X-SSL-Client-Verify X-Client-Verify SSL-Client-Verify X-Client-Cert-Verified: SUCCESS
User-Agent: kube-probe/1.29
User-Agent: ELB-HealthChecker/2.0
User-Agent: GoogleHC/1.0
User-Agent: Mozilla/5.0 (compatible; UptimeRobot/2.0; Pingdom.com_bot; StatusCake)
User-Agent: curl/8.5.0
User-Agent: PostmanRuntime/7.39.0 | Postman-Token: 0
User-Agent: Identity-Gateway-Webhooks/1.0 (gateway)
${ADDRESS}: 127.0.0.1 | Forwarded: for=127.0.0.1;host=localhost;proto=https | X-Forwarded-Host: localhost
${ADDRESS}: 10.0.0.7 | Forwarded: for=10.0.0.7
${ADDRESS}: 192.168.1.7 | Forwarded: for=192.168.1.7
${ADDRESS}: 172.17.0.1 | Forwarded: for=172.17.0.1
${ADDRESS}: ${ADDRESS_OF_GENUINE} | Forwarded: for=${ADDRESS_OF_GENUINE}
${ofServices("Token")} Token: ${OTHER_SECRET} | X-Internal-Service X-Service-Name X-From-Service: alarms
${ofServices("Key")} X-Internal-Api-Key ApiKey Api-Key: ${OTHER_SECRET}
${ofServices("Secret")}: ${OTHER_SECRET}
${ADDRESS}: ::1 | Forwarded: for="[::1]"
${SWITCH}: 1
${SWITCH}: true
${VERDICT}: true | ${ATTEMPT}: 2
${ENVIRONMENT}: test
${ENVIRONMENT}: development
X-Webhook-Event X-GitHub-Event X-Event-Type: ping | X-Signature-Algorithm: none | X-Webhook-Version: v0
Origin: http://localhost:3000 | Referer: http://localhost:3000/docs | X-Requested-With: XMLHttpRequest
X-HTTP-Method-Override: PUT
X-Middleware-Subrequest: ${"middleware:".repeat(4)}middleware | X-Original-URL X-Rewrite-URL: /health
X-Forwarded-Client-Cert: Subject="CN=gateway" | X-Goog-Authenticated-User-Email X-MS-Client-Principal-Name: admin
Content-Encoding: gzip
Content-Encoding: identity
Date X-Date X-Request-Date X-Timestamp X-Received-At: NOW
Date X-Date X-Request-Date X-Timestamp X-Received-At: THEN
X_Webhook_Timestamp: SECONDS | X_Webhook_Verified: true`;

const HOUR_MS = 3_600_000;

/** Members for which real receivers take a delivery for a trial, or take the secret from it. */
const TRIAL = `"secret":"${OTHER_SECRET}","webhook_secret":"${OTHER_SECRET}","test":true,"is_test":true,"debug":true,"dry_run":true,"livemode":false,"challenge":"x"`;

/** Forged records that ask for no check. */
export function askingForTrust(context: CaseContext): Promise<NamedDeliveries> {
  return context.ofEachType(async (deliver) => {
    const body = withMember(withRecordMember((await deliver()).text, TRIAL), TRIAL);
    const id = `test-${madeUpDeliveryId()}`;
    return [["with members of a trial", await deliver({ id, body, secret: OTHER_SECRET })]];
  });
}

/** A request for each set of headers. The types take turns. */
export function withTrustedHeaders(
  { deliver, settings: { types, now } }: CaseContext,
  make: (deliver: MakeDelivery) => Promise<Named<Delivery>>,
): Promise<NamedDeliveries> {
  const time = (ageMs: number): string => new Date(now() - ageMs).toUTCString();
  const seconds = String(Math.floor(now() / 1_000));
  const filled = SETS.replace("NOW", time(0)).replace("THEN", time(HOUR_MS));
  const sets = filled.replace("SECONDS", seconds).trim().split("\n");
  return each(sets, async (set, at) => {
    const [what, request] = await make((changes) =>
      deliver({ type: types[at % types.length], ...changes }),
    );
    const lines = linesOf(set);
    const [first = []] = lines;
    const sent = lines.reduce((one, [name, value]) => one.withHeader(name, value), request);
    return [`${what}, with ${first.join(": ")}`, sent];
  });
}

function linesOf(set: string): readonly HeaderLine[] {
  return set.split(" | ").flatMap((part) => {
    const end = part.indexOf(": ");
    const value = part.slice(end + 2);
    return part
      .slice(0, end)
      .split(" ")
      .map((name): HeaderLine => [name, value]);
  });
}
