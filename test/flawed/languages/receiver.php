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
function runHandler(string $id): void
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
}

/** Claims the id, runs the handler, settles the claim. Returns the status. */
function handleOnce(string $id, array $fields): int
{
    if (flawed('empty_text') && isset($fields['payload']) && empty($fields['text'])) {
        return 200;
    }
    $claim = fopen(idFile($id, 'claim'), 'c');
    if (!flock($claim, LOCK_EX | LOCK_NB)) {
        return 409;
    }
    if (file_exists(idFile($id, 'done'))) {
        return 200;
    }
    try {
        runHandler($id);
    } catch (Throwable $error) {
        return 500;
    }
    touch(idFile($id, 'done'));
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
    if (!flawed('reencoded')) {
        return $body;
    }
    $record = json_decode($body, false, 512, JSON_THROW_ON_ERROR);
    return json_encode($record, JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE);
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

function receive(): int
{
    $body = (string) file_get_contents('php://input');
    if (flawed('iconv_ignore')) {
        $body = (string) @iconv('UTF-8', 'UTF-8//IGNORE', $body);
    }
    if (strlen($body) > MAX_BODY_BYTES) {
        return 409;
    }
    $type = $_SERVER['HTTP_X_WEBHOOK_TYPE'] ?? '';
    $id = $_SERVER['HTTP_X_WEBHOOK_ID'] ?? '';
    $timestamp = $_SERVER['HTTP_X_WEBHOOK_TIMESTAMP'] ?? '';
    $signature = $_SERVER['HTTP_X_WEBHOOK_SIGNATURE'] ?? '';
    $ids = flawed('uuid_only') ? '(?i:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})' : '[0-9A-Za-z._-]{1,128}';
    $times = flawed('intval_timestamp') ? '.*' : '[0-9]{1,12}';
    if (
        !preg_match('/^[0-9A-Za-z._-]{1,128}\z/', $type)
        || !preg_match("/^$ids\\z/", $id)
        || !preg_match("/^$times\\z/", $timestamp)
        || !preg_match('/^v1=' . HEX_64 . '\z/', $signature)
    ) {
        return 409;
    }
    try {
        if (!isSigned($id, $timestamp, $signature, $body)) {
            return 409;
        }
    } catch (JsonException $error) {
        return 409;
    }
    if (!isFresh(intval($timestamp))) {
        return 409;
    }
    return handleRecord($type, $id, $body);
}

function handleRecord(string $type, string $id, string $body): int
{
    $text = str_starts_with($body, "\u{FEFF}") ? substr($body, 3) : $body;
    $record = json_decode($text, true);
    if (!is_array($record)) {
        return 503;
    }
    $keys = array_values(array_intersect(RECORDS, array_keys($record)));
    if (count($keys) !== 1) {
        return 503;
    }
    if ((RECORDS[$type] ?? null) !== $keys[0]) {
        return 409;
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
