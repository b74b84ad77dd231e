import { checkOption } from "../option-checks.js";
import {
  isOnlineDataEventType,
  ONLINE_DATA_EVENT_TYPES,
  type KnownOnlineDataEvent,
  type OnlineDataEvent,
  type OnlineDataEventType,
} from "../../src/records/online-data-event.js";
import { EVENT, EVENT_TYPES, type Fields } from "../../src/common/gateway-facts.js";
import { createRandom } from "../random.js";
import { checkSampleOptions, type SampleOptions } from "./sample-options.js";
import { sampleMoment, writeTime, writeTimeAt } from "./sample-times.js";

/**
 * The event of one type, with the site fields of that type.
 *
 * @experimental
 */
export type OnlineDataEventOf<T extends OnlineDataEventType> = Extract<
  KnownOnlineDataEvent,
  { type: T }
>;

const SITES = [
  { site_name: "Example People Search", site_base_url: "https://people-search.example" },
  { site_name: "Example Directory", site_base_url: "https://directory.example" },
  { site_name: "Example Records", site_base_url: "https://records.example" },
];
const NO_SITE = Object.fromEntries(
  Object.entries<Fields[string]>(EVENT).flatMap(([field, { ofSite }]) =>
    ofSite ? [[field, null]] : [],
  ),
);

/**
 * A synthetic Online Data event as the gateway could send it, with the severity of its type and with site fields or
 * null, as the type requires. Each seed gives another `account_id`, from 2 000 000 000 to 2 147 483 647. Without a
 * seed each call gives another `occurred_at`. Overrides appear in the record unchanged.
 *
 * ```ts
 * sampleOnlineDataEvent("DATA_REAPPEARED", { account_id: 42 }).site_id; // number
 * ```
 *
 * @throws ConfigurationError for an undocumented type, and for an option that cannot work.
 */
export function sampleOnlineDataEvent<T extends OnlineDataEventType>(
  type: T,
  overrides: Partial<OnlineDataEventOf<T>> = {},
  options: SampleOptions = {},
): OnlineDataEventOf<T> {
  const rule = `type must be one of ${ONLINE_DATA_EVENT_TYPES.join(", ")}`;
  checkOption(isOnlineDataEventType(type), rule);
  const { seed, format, id, accountOf } = checkSampleOptions("sampleOnlineDataEvent", options);
  const random = createRandom(seed);
  const { severity, hasSite } = EVENT_TYPES[type];
  const occurred = sampleMoment(createRandom(id));
  const event: Readonly<Record<keyof OnlineDataEvent, unknown>> = {
    type,
    severity,
    account_id: accountOf(seed),
    client_id: "partner-example",
    site_id: 1 + random.below(500),
    ...random.pick(SITES),
    occurred_at: format === undefined ? writeTimeAt(occurred, 2) : writeTime(occurred, format),
  };
  return { ...event, ...(hasSite ? {} : NO_SITE), ...overrides } as unknown as OnlineDataEventOf<T>;
}
