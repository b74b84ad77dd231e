// One script a verb, so that each is one atomic operation, judged by the server's clock. All answer
// with one integer, which every client and every setting of its replies brings over: the number of the
// call, which is the last of ARGV, times 2^32, plus a code that no other script has. So a client that
// gives a call the answer to another one is noticed.
//
// A key holds "1" once completed, which Redis shares between all keys; every other value costs 16
// bytes more. Before that it holds the lease's end in Unix milliseconds, "!" for a takeover, a space and
// the owner.

/** A script, and what EVALSHA knows it by. */
export interface RedisScript {
  readonly lua: string;
  readonly sha1: string;
  /** What it writes takes the place of something as big, so it may run at `maxmemory`. */
  readonly needsNoMemory?: true;
}

/** How far the number of the call is shifted in an answer. A double holds 20 bits more exactly. */
export const CODES = 2 ** 32;

/** Stands at the head of each script, which answers by \`answer(code)\`. */
export const ANSWER = `local function answer(code) return ARGV[#ARGV] * ${String(CODES)} + code end
`;

const NOW = `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;

/** What `CLAIM` answers. Milliseconds that are left of another owner's lease are added to `inFlight`. */
export const CLAIM_CODES = { completed: 11, claimed: 12, takenOver: 13, inFlight: 1_000 };

/**
 * KEYS: the key. ARGV: owner, leaseMs, retentionMs. Answers one of `CLAIM_CODES`. The key lives for the
 * retention beyond the lease's end, so that a takeover is told from a first claim, and what is never taken
 * over is forgotten.
 */
export const CLAIM: RedisScript = {
  lua: `${ANSWER}${NOW}local held = redis.call('GET', KEYS[1])
if held == '1' then return answer(${String(CLAIM_CODES.completed)}) end
local takeover = ''
if held then
  local leaseEnd, mark, owner = string.match(held, '^(%d+)(!?) (.*)$')
  if not owner then
    return redis.error_reply('ERR the key holds what this store did not write: set keyPrefix')
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
  sha1: "1f913c510d3593d2880be959863b30b1d9e37542",
};

/** What `RENEW` answers. */
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

/** What `COMPLETE` answers. */
export const COMPLETE_CODE = 31;

/** KEYS: the key. ARGV: retentionMs. Answers `COMPLETE_CODE`. A completion that stands keeps its retention. */
export const COMPLETE: RedisScript = {
  lua: `${ANSWER}if redis.call('GET', KEYS[1]) ~= '1' then
  redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
end
return answer(${String(COMPLETE_CODE)})
`,
  sha1: "b7bd1c25b4ac1c8c6a69008d939f20eb05cc2d05",
  needsNoMemory: true,
};

/** What `RELEASE` answers. */
export const RELEASE_CODE = 41;

/**
 * KEYS: the key. ARGV: owner. Answers `RELEASE_CODE`. A takeover ends now and lives for the retention from then on, so
 * that the next claim is one too; any other lease is forgotten.
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
