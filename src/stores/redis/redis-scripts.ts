// One script for each method of the store, so that each is one atomic operation by the server's clock.
//
// A script answers with one integer, which every client and every setting of a client passes on: the
// number of the call (the last of ARGV) times 2^32, plus a code that no other script uses. So the store
// notices a client that mixes up its replies.
//
// Values, layout version 1:
//   "1"                    completed. Redis shares small integers between keys; any other value costs
//                          16 bytes more.
//   "<end>[!] <owner>"     leased until <end>, in Unix milliseconds; "!" marks a takeover.
// A release that changes this layout must change `LAYOUT_VERSION`.

/**
 * Version of the layout above, a part of each key: a release reads only keys whose values it knows, and
 * after a rollback the older release finds its own keys unchanged.
 */
const LAYOUT_VERSION = 1;

/**
 * The key of a delivery. The braces are a Cluster hash tag: the keys of one id in all versions share a
 * node, so that a later release can read and write two versions in one script. Braces in `prefix` come
 * first and keep their effect.
 */
export function redisKey(prefix: string, id: string): string {
  return `${prefix}${String(LAYOUT_VERSION)}:{${id}}`;
}

/** A script, with its hash for EVALSHA. */
export interface RedisScript {
  readonly lua: string;
  readonly sha1: string;
  /** Set if the value that it writes is no longer than the old one, so that it may run at `maxmemory`. */
  readonly needsNoMemory?: true;
}

/** The call's number is multiplied by this in an answer, which leaves 20 bits for it in a double. */
export const CALL_FACTOR = 2 ** 32;

/** The head of each script: `answer(code)` makes the reply. */
export const ANSWER = `local function answer(code) return ARGV[#ARGV] * ${String(CALL_FACTOR)} + code end
`;

const NOW = `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;

/** The answers of `CLAIM`. The milliseconds left of the other owner's lease are added to `inFlight`. */
export const CLAIM_CODES = { completed: 11, claimed: 12, takenOver: 13, inFlight: 1_000 };

/**
 * KEYS: the key. ARGV: owner, leaseMs, retentionMs. Answers one of `CLAIM_CODES`. The key expires one
 * retention after the lease's end: until then a later claim is known to be a takeover.
 */
export const CLAIM: RedisScript = {
  lua: `${ANSWER}${NOW}local held = redis.call('GET', KEYS[1])
if held == '1' then return answer(${String(CLAIM_CODES.completed)}) end
local takeover = ''
if held then
  local leaseEnd, mark, owner = string.match(held, '^(%d+)(!?) (.*)$')
  if not owner then
    return redis.error_reply('ERR the key holds a value that this store did not write: set keyPrefix')
  end
  local left = leaseEnd - now
  if left > 0 and owner ~= ARGV[1] then
    return answer(${String(CLAIM_CODES.inFlight)} + math.min(left, 4000000000))
  end
  takeover = left > 0 and mark or '!'
end
local value = string.format('%d%s %s', now + ARGV[2], takeover, ARGV[1])
redis.call('SET', KEYS[1], value, 'PX', ARGV[2] + ARGV[3])
if takeover == '!' then return answer(${String(CLAIM_CODES.takenOver)}) end
return answer(${String(CLAIM_CODES.claimed)})
`,
  sha1: "4eb72d719826185d93ee119686a2c6262eed3183",
};

/** The answers of `RENEW`. */
export const RENEW_CODES = { held: 21, lost: 22 };

/** KEYS: the key. ARGV: owner, leaseMs. Answers one of `RENEW_CODES`. */
export const RENEW: RedisScript = {
  lua: `${ANSWER}${NOW}local held = redis.call('GET', KEYS[1])
local leaseEnd, takeover, owner = string.match(held or '', '^(%d+)(!?) (.*)$')
if owner ~= ARGV[1] then return answer(${String(RENEW_CODES.lost)}) end
local left = leaseEnd - now
if left <= 0 then return answer(${String(RENEW_CODES.lost)}) end
local retention = redis.call('PTTL', KEYS[1]) - left
local value = string.format('%d%s %s', now + ARGV[2], takeover, owner)
redis.call('SET', KEYS[1], value, 'PX', ARGV[2] + retention)
return answer(${String(RENEW_CODES.held)})
`,
  sha1: "afa626dd81862924113df322b106d884ba01e5a6",
  needsNoMemory: true,
};

/** The answer of `COMPLETE`. */
export const COMPLETE_CODE = 31;

/** KEYS: the key. ARGV: retentionMs. Answers `COMPLETE_CODE`. An earlier completion keeps its retention. */
export const COMPLETE: RedisScript = {
  lua: `${ANSWER}if redis.call('GET', KEYS[1]) ~= '1' then
  redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
end
return answer(${String(COMPLETE_CODE)})
`,
  sha1: "b7bd1c25b4ac1c8c6a69008d939f20eb05cc2d05",
  needsNoMemory: true,
};

/** The answer of `RELEASE`. */
export const RELEASE_CODE = 41;

/**
 * KEYS: the key. ARGV: owner. Answers `RELEASE_CODE`. A takeover becomes an ended lease that is kept for
 * the retention from now, so that the next claim is a takeover too. Any other lease is deleted.
 */
export const RELEASE: RedisScript = {
  lua: `${ANSWER}${NOW}local held = redis.call('GET', KEYS[1])
local leaseEnd, takeover, owner = string.match(held or '', '^(%d+)(!?) (.*)$')
if owner ~= ARGV[1] then return answer(${String(RELEASE_CODE)}) end
if takeover == '' then
  redis.call('DEL', KEYS[1])
  return answer(${String(RELEASE_CODE)})
end
local left = leaseEnd - now
if left <= 0 then return answer(${String(RELEASE_CODE)}) end
local retention = math.max(redis.call('PTTL', KEYS[1]) - left, 1)
local value = string.format('%d! %s', now, owner)
redis.call('SET', KEYS[1], value, 'PX', retention)
return answer(${String(RELEASE_CODE)})
`,
  sha1: "55e46f60b1f2ee30f7242be107ffe0b8751f4922",
  needsNoMemory: true,
};
