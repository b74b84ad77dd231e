// One script a verb, so that each is one atomic operation, judged by the server's clock. All answer
// with one integer, which every client and every setting of its replies brings over.
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
local takeover = ''
if held then
  local leaseEnd, mark, owner = string.match(held, '^(%d+)(!?) (.*)$')
  if not owner then
    return redis.error_reply('ERR the key holds what this store did not write: set keyPrefix')
  end
  local left = leaseEnd - now
  if left > 0 and owner ~= ARGV[1] then return left end
  takeover = left > 0 and mark or '!'
end
local value = string.format('%d%s %s', now + ARGV[2], takeover, ARGV[1])
redis.call('SET', KEYS[1], value, 'PX', ARGV[2] + ARGV[3])
if takeover == '!' then return -2 end
return -1
`,
  sha1: "1e66c1aa32e0b205fc3a27cf8d0af3e3894c6fd8",
};

/** What `CLAIM` answers beside the milliseconds that are left. */
export const CLAIM_ANSWERS = { completed: 0, claimed: -1, takenOver: -2 };

/** KEYS: the key. ARGV: owner, leaseMs. Answers 1 for a lease that is renewed, 0 for one that is lost. */
export const RENEW: RedisScript = {
  lua: `${NOW}local held = redis.call('GET', KEYS[1])
local leaseEnd, takeover, owner = string.match(held or '', '^(%d+)(!?) (.*)$')
if owner ~= ARGV[1] then return 0 end
local left = leaseEnd - now
if left <= 0 then return 0 end
local retention = redis.call('PTTL', KEYS[1]) - left
local value = string.format('%d%s %s', now + ARGV[2], takeover, owner)
redis.call('SET', KEYS[1], value, 'PX', ARGV[2] + retention)
return 1
`,
  sha1: "4210bf0765a1231af8f7ee8bb3d514b46b3cf7bf",
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

/**
 * KEYS: the key. ARGV: owner. Answers 0. A takeover ends now and lives for the retention from then on, so
 * that the next claim is one too; any other lease is forgotten.
 */
export const RELEASE: RedisScript = {
  lua: `${NOW}local held = redis.call('GET', KEYS[1])
local leaseEnd, takeover, owner = string.match(held or '', '^(%d+)(!?) (.*)$')
if owner ~= ARGV[1] then return 0 end
if takeover == '' then
  redis.call('DEL', KEYS[1])
  return 0
end
local left = leaseEnd - now
if left <= 0 then return 0 end
local retention = math.max(redis.call('PTTL', KEYS[1]) - left, 1)
local value = string.format('%d! %s', now, owner)
redis.call('SET', KEYS[1], value, 'PX', retention)
return 0
`,
  sha1: "69936022a5a82e5ab61eb13dd908a6b329cb527d",
  needsNoMemory: true,
};
