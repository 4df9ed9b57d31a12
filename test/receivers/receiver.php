<?php
/**
 * A receiver of webhooks in PHP 8.1 or later, without dependencies. Behind a web server, or to try it:
 * WEBHOOK_SECRET=whsec_... php -S 127.0.0.1:4000 receiver.php
 */
declare(strict_types=1);

const TOLERANCE_SECONDS = 300;
const MAX_BYTES = 1_048_576;

function secret_key(): string
{
    $secret = getenv('WEBHOOK_SECRET') ?: '';
    $key = base64_decode(preg_replace('/^whsec_/', '', $secret), true);
    if ($key === false || strlen($key) !== 32) {
        throw new RuntimeException('WEBHOOK_SECRET is not the secret of an endpoint.');
    }
    return $key;
}

/** Whether the call is ours: signed over `id.timestamp.body`, and not older than five minutes. */
function is_genuine(string $id, string $timestamp, string $signatures, string $body): bool
{
    if ($id === '' || preg_match('/\A[0-9]{1,12}\z/', $timestamp) !== 1) {
        return false;
    }
    if (abs(time() - (int) $timestamp) > TOLERANCE_SECONDS) {
        return false;
    }
    $expected = hash_hmac('sha256', "$id.$timestamp.$body", secret_key(), true);
    // While a secret is rotated there are two signatures, one of each secret.
    foreach (explode(' ', $signatures) as $signature) {
        $given = str_starts_with($signature, 'v1,') ? base64_decode(substr($signature, 3), true) : false;
        if ($given !== false && hash_equals($expected, $given)) {
            return true;
        }
    }
    return false;
}

/**
 * Deliveries come in any order. A margin event does not raise the version of its account: its number says which is
 * newer. The number of the newest of each account is kept in a file, which one process at a time reads and writes.
 */
function keep_newest(string $folder, array $event): void
{
    if (!in_array($event['type'], ['margin.call', 'margin.recovered', 'stop.out'], true)) {
        return;
    }
    $account = $event['resource']['id'];
    $file = fopen($folder . '/margin-' . hash('sha256', $account), 'c+');
    flock($file, LOCK_EX);
    if ((int) $event['sequence'] > (int) stream_get_contents($file)) {
        ftruncate($file, 0);
        rewind($file);
        fwrite($file, $event['sequence']);
        error_log("margin $account {$event['type']} {$event['sequence']}");
    }
    fclose($file);
}

/**
 * Put the event where your own work finds it, and answer at once: after ten seconds the call counts as failed. A
 * delivery may come twice: keep the ids that are done where your data is, under a unique key. Here each is an empty
 * file, which one process alone can make.
 */
function accept(string $id, array $event): void
{
    $folder = sys_get_temp_dir() . '/webhooks-done';
    if (!is_dir($folder)) {
        @mkdir($folder, 0700);
    }
    $mark = @fopen($folder . '/' . hash('sha256', $id), 'x');
    if ($mark === false) {
        return;
    }
    fclose($mark);
    keep_newest($folder, $event);
    error_log("accepted $id {$event['type']}");
}

function answer(): int
{
    if ($_SERVER['REQUEST_METHOD'] !== 'POST') {
        header('Allow: POST');
        return 405;
    }
    // The exact bytes that were signed: a body that was parsed and written again has others.
    $body = file_get_contents('php://input', false, null, 0, MAX_BYTES + 1);
    if ($body === false || strlen($body) > MAX_BYTES) {
        return 413;
    }
    $id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
    $timestamp = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
    if (!is_genuine($id, $timestamp, $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '', $body)) {
        return 400;
    }
    accept($id, json_decode($body, true, 64, JSON_THROW_ON_ERROR));
    return 204;
}

http_response_code(answer());
