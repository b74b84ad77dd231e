<?php
// A receiver of the gateway's webhooks for `php -S`. It is right, unless FLAW names what it does wrong.
// PHP keeps nothing between requests, so its state is files in the folder STATE.
declare(strict_types=1);

const MAX_BODY_BYTES = 1_048_576;
const TOLERANCE_S = 300;
const SLOW_S = 1.5;
// Long enough that the next request arrives meanwhile.
const RACE_US = 300_000;
const HEX_64 = '[0-9a-f]{64}';
const RECORDS = ['new_alarm' => 'alarm', 'delete_my_data_event' => 'event'];
const SEVERITIES = ['Low', 'Medium', 'High', 'Info', 'INFO', 'SUCCESS', 'WARNING'];

function flawed(string $name): bool
{
    return getenv('FLAW') === $name;
}

function stateFile(string $name): string
{
    return getenv('STATE') . '/' . $name;
}

/** The file of an id. An id may be `..`, so its hash is the name. */
function idFile(string $id, string $kind): string
{
    return stateFile(hash('sha256', $id) . ".$kind");
}

/** The partner's own work. */
function runHandler(string $id, array $fields = []): void
{
    for ($until = microtime(true) + SLOW_S; microtime(true) < $until; usleep(10_000)) {
        clearstatcache();
        if (!file_exists(stateFile('slow'))) {
            break;
        }
    }
    if (file_exists(stateFile('failing'))) {
        throw new RuntimeException('the database is down');
    }
    file_put_contents(idFile($id, 'effects'), 'x', FILE_APPEND | LOCK_EX);
    if (flawed('logs_text') && isset($fields['payload'])) {
        trim($fields['text'] ?? null);
    }
}

/** Claims the id, runs the handler, settles the claim. Returns the status. */
function handleOnce(string $id, array $fields = []): int
{
    if (flawed('empty_text') && isset($fields['payload']) && empty($fields['text'])) {
        return 200;
    }
    $key = flawed('sixteen_characters') ? substr($id, 0, 16) : $id;
    $claim = fopen(idFile($key, 'claim'), 'c');
    if (!flock($claim, LOCK_EX | LOCK_NB)) {
        return 409;
    }
    if (file_exists(idFile($key, 'done'))) {
        return 200;
    }
    if (flawed('marks_before_handling')) {
        touch(idFile($key, 'done'));
    }
    try {
        runHandler($id, $fields);
    } catch (Throwable $error) {
        file_put_contents(idFile($id, 'failures'), 'x', FILE_APPEND | LOCK_EX);
        clearstatcache();
        $isDead = flawed('dead_letters') && filesize(idFile($id, 'failures')) > 5;
        $isSwallowed = flawed('catches_low') && ($fields['severity'] ?? '') === 'Low';
        return flawed('acknowledges_exceptions') || $isDead || $isSwallowed ? 200 : 500;
    }
    if (!flawed('forgets_big') || strlen(json_encode($fields)) < 100_000) {
        touch(idFile($key, 'done'));
    }
    return 200;
}

/** Looks for the file, and writes it later: two requests can pass the look-up. */
function handleUnlocked(string $id): int
{
    if (file_exists(idFile($id, 'done'))) {
        return 200;
    }
    usleep(RACE_US);
    try {
        runHandler($id);
    } catch (Throwable $error) {
        return 500;
    }
    touch(idFile($id, 'done'));
    return 200;
}

/** What the signature is computed over. */
function signedBytes(string $body): string
{
    return match (getenv('FLAW')) {
        'reencoded' => json_encode(
            json_decode($body, false, 512, JSON_THROW_ON_ERROR),
            JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE,
        ),
        'trims_body' => trim($body),
        default => $body,
    };
}

/** @return array<string|false> */
function secrets(): array
{
    $secret = getenv('GATEWAY_WEBHOOK_SECRET');
    return flawed('getenv_false') ? [$secret, getenv('OLD_WEBHOOK_SECRET')] : [$secret];
}

function isSigned(string $id, string $timestamp, string $given, string $body): bool
{
    if (flawed('intval_timestamp')) {
        $timestamp = (string) intval($timestamp);
    }
    foreach (secrets() as $secret) {
        $mac = hash_hmac('sha256', "v1:$timestamp:$id:" . signedBytes($body), (string) $secret);
        if (flawed('first_eight') && strncmp("v1=$mac", $given, 11) === 0) {
            return true;
        }
        if (flawed('strcasecmp_base64')
            && strcasecmp(base64_encode(hex2bin($mac)), base64_encode(hex2bin(substr($given, 3)))) === 0) {
            return true;
        }
        if (flawed('count_chars') && count_chars("v1=$mac", 1) === count_chars($given, 1)) {
            return true;
        }
        if (hash_equals("v1=$mac", $given)) {
            return true;
        }
        if (flawed('answers_signature')) {
            header("X-Expected-Signature: v1=$mac");
        }
    }
    return false;
}

function isFresh(int $timestamp): bool
{
    if (flawed('date_interval')) {
        $age = (new DateTime("@$timestamp"))->diff(new DateTime('@' . time()));
        return $age->h === 0 && $age->i * 60 + $age->s <= TOLERANCE_S;
    }
    return abs(time() - $timestamp) <= TOLERANCE_S;
}

function refusal(): int
{
    return flawed('answers_401') ? 401 : 409;
}

function receive(): int
{
    $body = (string) file_get_contents('php://input');
    if (flawed('iconv_ignore')) {
        $body = (string) @iconv('UTF-8', 'UTF-8//IGNORE', $body);
    }
    if (flawed('limit_64k')) {
        $body = substr($body, 0, 65_536);
    }
    if (strlen($body) > MAX_BODY_BYTES) {
        return 409;
    }
    $type = $_SERVER['HTTP_X_WEBHOOK_TYPE'] ?? '';
    $id = $_SERVER['HTTP_X_WEBHOOK_ID'] ?? '';
    $timestamp = $_SERVER['HTTP_X_WEBHOOK_TIMESTAMP'] ?? '';
    $signature = $_SERVER['HTTP_X_WEBHOOK_SIGNATURE'] ?? '';
    $ids = flawed('uuid_only') ? '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}' : '[0-9A-Za-z._-]{1,128}';
    $times = flawed('intval_timestamp') ? '.*' : '[0-9]{1,12}';
    $signatures = flawed('first_eight') ? 'v1=.*' : 'v1=' . HEX_64;
    if (
        !preg_match('/^[0-9A-Za-z._-]{1,128}\z/', $type)
        || !preg_match("/^$ids\\z/", $id)
        || !preg_match("/^$times\\z/", $timestamp)
        || (!preg_match("/^$signatures\\z/", $signature)
            && !($signature === '' && flawed('ignores_missing_signature')))
    ) {
        return refusal();
    }
    try {
        $isSkipped = $signature === '' && flawed('ignores_missing_signature');
        if (!$isSkipped && !isSigned($id, $timestamp, $signature, $body)) {
            return refusal();
        }
    } catch (JsonException $error) {
        return refusal();
    }
    if (!isFresh(intval($timestamp))) {
        return refusal();
    }
    return handleRecord($type, $id, $body);
}

function handleRecord(string $type, string $id, string $body): int
{
    $text = str_starts_with($body, "\u{FEFF}") ? substr($body, 3) : $body;
    $unreadable = flawed('json_error_400') ? 400 : 503;
    $record = json_decode($text, true);
    if (!is_array($record)) {
        return $unreadable;
    }
    $keys = array_values(array_intersect(RECORDS, array_keys($record)));
    if (count($keys) !== 1) {
        return $unreadable;
    }
    if ((RECORDS[$type] ?? null) !== $keys[0]) {
        return refusal();
    }
    if (flawed('severity_enum') && !in_array($record[$keys[0]]['severity'] ?? '', SEVERITIES, true)) {
        return 422;
    }
    $fields = is_array($record[$keys[0]]) ? $record[$keys[0]] : [];
    return flawed('file_race') ? handleUnlocked($id) : handleOnce($id, $fields);
}

function control(string $path): void
{
    [, , $name, $way] = explode('/', $path);
    if ($way === 'on') {
        touch(stateFile($name));
    } elseif (file_exists(stateFile($name))) {
        unlink(stateFile($name));
    }
}

$path = (string) parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
$method = $_SERVER['REQUEST_METHOD'];
if (str_starts_with($path, '/handled/')) {
    $file = idFile(rawurldecode(substr($path, strlen('/handled/'))), 'effects');
    echo file_exists($file) ? filesize($file) : 0;
} elseif (str_starts_with($path, '/control/')) {
    control($path);
} elseif ($method === 'GET' || $method === 'HEAD') {
    // A redirect in front turns a delivery into a GET.
    http_response_code(isset($_SERVER['HTTP_X_WEBHOOK_ID']) ? 409 : 200);
} elseif ($method !== 'POST') {
    http_response_code(405);
} else {
    http_response_code(receive());
}
return true;
