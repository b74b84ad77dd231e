// One script a verb, so that each is one atomic operation, judged by the server's clock. All answer
// with one integer, which every client and every setting of its replies brings over.
//
// A key holds "1" once completed, which Redis shares between all keys; every other value costs 16
// bytes more. Before that it holds the lease's end in Unix milliseconds, a space and the owner.

/** A script, and what EVALSHA knows it by. */
export interface RedisScript {
  readonly lua: string;
  readonly sha1: string;
  /** What it writes takes the place of something as big, so it may run at `maxmemory`. */
  readonly needsNoMemory?: true;
}

const NOW = `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;

/**
 * KEYS: the key. ARGV: owner, leaseMs, retentionMs. Answers what is left of another owner's lease, or
 * one of `CLAIM_ANSWERS`. The key lives for the retention beyond the lease's end, so that a takeover is
 * told from a first claim, and what is never taken over is forgotten.
 */
export const CLAIM: RedisScript = {
  lua: `${NOW}local held = redis.call('GET', KEYS[1])
if held == '1' then return 0 end
local left = 0
if held then
  local leaseEnd, owner = string.match(held, '^(%d+) (.*)$')
  if not owner then
    return redis.error_reply('ERR the key holds what this store did not write: set keyPrefix')
  end
  left = leaseEnd - now
  if left > 0 and owner ~= ARGV[1] then return left end
end
local value = string.format('%d %s', now + ARGV[2], ARGV[1])
redis.call('SET', KEYS[1], value, 'PX', ARGV[2] + ARGV[3])
if held and left <= 0 then return -2 end
return -1
`,
  sha1: "94fc25dde4954734d823fc3ff526ac66dbc6ea75",
};

/** What `CLAIM` answers beside the milliseconds that are left. */
export const CLAIM_ANSWERS = { completed: 0, claimed: -1, takenOver: -2 };

/** KEYS: the key. ARGV: owner, leaseMs. Answers 1 for a lease that is renewed, 0 for one that is lost. */
export const RENEW: RedisScript = {
  lua: `${NOW}local held = redis.call('GET', KEYS[1])
local leaseEnd, owner = string.match(held or '', '^(%d+) (.*)$')
if owner ~= ARGV[1] then return 0 end
local left = leaseEnd - now
if left <= 0 then return 0 end
local retention = redis.call('PTTL', KEYS[1]) - left
local value = string.format('%d %s', now + ARGV[2], owner)
redis.call('SET', KEYS[1], value, 'PX', ARGV[2] + retention)
return 1
`,
  sha1: "248a75b2f23143f41c02ecc181c9dc7388a86ed1",
  needsNoMemory: true,
};

/** KEYS: the key. ARGV: retentionMs. Answers 0. A completion that stands keeps its retention. */
export const COMPLETE: RedisScript = {
  lua: `if redis.call('GET', KEYS[1]) ~= '1' then
  redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
end
return 0
`,
  sha1: "5d625eea02313984d733fa1307cd585c51b73e18",
  needsNoMemory: true,
};

/** KEYS: the key. ARGV: owner. Answers 0. */
export const RELEASE: RedisScript = {
  lua: `local held = redis.call('GET', KEYS[1])
if string.match(held or '', '^%d+ (.*)$') == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 0
`,
  sha1: "a7dfaf3567e04ecb224501a1ea3a62f554685fdc",
};
