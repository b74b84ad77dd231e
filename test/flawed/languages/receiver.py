"""A receiver of the gateway's webhooks on http.server. It is right, unless FLAW names what it does wrong."""

import datetime
import hashlib
import hmac
import json
import os
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

SECRET = os.environ["GATEWAY_WEBHOOK_SECRET"]
FLAW = os.environ.get("FLAW", "")
MAX_BODY_BYTES = 1_048_576
TOLERANCE_S = 300
HANDLER_TIMEOUT_S = 0.5
SLOW_S = 1.5

GRAMMAR = {
    "X-Webhook-Type": re.compile(r"[\w.-]{1,128}", re.ASCII),
    "X-Webhook-Id": re.compile(r"[0-9A-Za-z._-]{1,128}"),
    "X-Webhook-Timestamp": re.compile(r"[0-9]{1,12}"),
    "X-Webhook-Signature": re.compile(r"v1=[0-9a-f]{64}"),
}
RECORDS = {"new_alarm": "alarm", "delete_my_data_event": "event"}

lock = threading.Lock()
done = set()
running = set()
effects = {}
failing = threading.Event()
slow_over = threading.Event()
slow_over.set()


def flawed(name):
    return FLAW == name


def run_handler(delivery_id):
    """The partner's own work."""
    slow_over.wait(SLOW_S)
    if failing.is_set():
        raise RuntimeError("the database is down")
    with lock:
        effects[delivery_id] = effects.get(delivery_id, 0) + 1


def handle_once(delivery_id):
    """Claims the id, runs the handler, settles the claim. Returns the status."""
    with lock:
        if delivery_id in done:
            return 200
        if delivery_id in running:
            return 409
        running.add(delivery_id)
    outcome = []
    settled = threading.Event()

    def work():
        try:
            run_handler(delivery_id)
            status = 204 if flawed("answers_204") else 200
        except Exception:
            status = 500
        with lock:
            running.discard(delivery_id)
            if status < 300:
                done.add(delivery_id)
        outcome.append(status)
        settled.set()

    threading.Thread(target=work, daemon=True).start()
    return outcome[0] if settled.wait(HANDLER_TIMEOUT_S) else 503


def signed_bytes(body):
    """What the signature is computed over."""
    if flawed("reserialized"):
        return json.dumps(json.loads(body), separators=(",", ":"), ensure_ascii=False).encode()
    return body


def decoded(body):
    """As a framework does that hands out a text and no bytes."""
    if flawed("decode_ignore"):
        return body.decode("utf-8", "ignore").encode()
    if flawed("decode_replace"):
        return body.decode("utf-8", "replace").encode()
    return body


def secrets():
    if flawed("none_secret"):
        return [SECRET, str(os.environ.get("OLD_WEBHOOK_SECRET"))]
    return [SECRET]


def is_signed(headers, body):
    timestamp = headers["X-Webhook-Timestamp"]
    if flawed("int_timestamp"):
        timestamp = str(int(re.sub(r"\D.*", "", timestamp) or 0))
    prefix = f"v1:{timestamp}:{headers['X-Webhook-Id']}:".encode()
    given = headers["X-Webhook-Signature"]
    for secret in secrets():
        mac = hmac.new(secret.encode(), prefix + signed_bytes(body), hashlib.sha256).hexdigest()
        if flawed("sorted_digits") and sorted(f"v1={mac}") == sorted(given):
            return True
        if hmac.compare_digest(f"v1={mac}".encode(), given.encode("utf-8", "surrogateescape")):
            return True
    return False


def is_fresh(timestamp):
    age = abs(time.time() - timestamp)
    if flawed("timedelta_seconds"):
        return datetime.timedelta(seconds=age).seconds <= TOLERANCE_S
    return age <= TOLERANCE_S


def receive(headers, body):
    """Returns the status for a delivery whose four headers came once each."""
    if any(header is None for header in headers.values()):
        return 409
    for name, grammar in GRAMMAR.items():
        is_loose = flawed("int_timestamp") and name.endswith("Timestamp")
        if not is_loose and not grammar.fullmatch(headers[name]):
            return 409
    try:
        if not is_signed(headers, body):
            return 409
    except ValueError:
        return 409
    timestamp = int(re.match(r"[0-9]*", headers["X-Webhook-Timestamp"]).group() or 0)
    if not is_fresh(timestamp):
        return 409
    try:
        record = json.loads(body.decode("utf-8-sig"))
    except Exception:
        return 503
    webhook_type = headers["X-Webhook-Type"]
    keys = [key for key in RECORDS.values() if isinstance(record, dict) and key in record]
    if len(keys) != 1:
        return 503
    if RECORDS.get(webhook_type) != keys[0]:
        return 409
    fields = record[keys[0]] if isinstance(record[keys[0]], dict) else {}
    if flawed("strptime"):
        try:
            datetime.datetime.strptime(fields.get("occurred_at") or "2026-01-01T00:00:00+00:00", "%Y-%m-%dT%H:%M:%S%z")
        except (TypeError, ValueError):
            return 400
    return handle_once(headers["X-Webhook-Id"])


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        if self.path.startswith("/handled/"):
            self.answer(200, str(effects.get(unquote(self.path[len("/handled/"):]), 0)))
        else:
            # A redirect in front turns a delivery into a GET.
            self.answer(409 if "X-Webhook-Id" in self.headers else 200, "")

    do_HEAD = do_GET

    def do_POST(self):
        try:
            body = self.read_body()
        except ConnectionError:
            self.close_connection = True
            return
        if self.path.startswith("/control/"):
            self.control(self.path)
            self.answer(204, "")
            return
        if body is None:
            self.close_connection = True
            self.answer(409, "too large")
            return
        headers = {name: self.single(name) for name in GRAMMAR}
        self.answer(receive(headers, decoded(body)), "")

    def do_PUT(self):
        self.close_connection = True
        self.answer(405, "")

    do_PATCH = do_DELETE = do_PUT

    def single(self, name):
        values = self.headers.get_all(name, [])
        return values[0] if len(values) == 1 else None

    def control(self, path):
        if path == "/control/failing/on":
            failing.set()
        elif path == "/control/failing/off":
            failing.clear()
        elif path == "/control/slow/on":
            slow_over.clear()
        elif path == "/control/slow/off":
            slow_over.set()
            while running:
                time.sleep(0.01)

    def read_body(self):
        """The bytes, or None if there are too many. Raises ConnectionError if they do not all arrive."""
        coding = self.headers.get("Transfer-Encoding", "").lower()
        if coding == "chunked":
            return self.read_chunks()
        length = self.headers.get("Content-Length", "0")
        return self.read_exactly(int(length)) if length.isdigit() else b""

    def read_exactly(self, length):
        pieces, left, is_too_large = [], length, length > MAX_BODY_BYTES
        while left > 0:
            piece = self.rfile.read(min(left, 65_536))
            if not piece:
                raise ConnectionError("the upload was cut")
            left -= len(piece)
            if not is_too_large:
                pieces.append(piece)
        return None if is_too_large else b"".join(pieces)

    def read_chunks(self):
        body, is_too_large = b"", False
        while True:
            line = self.rfile.readline(1_024)
            size = int(line.split(b";")[0].strip() or b"0", 16)
            if not line:
                raise ConnectionError("the upload was cut")
            if size == 0:
                while self.rfile.readline(1_024).strip():
                    pass
                return None if is_too_large else body
            piece = self.read_exactly(size)
            self.rfile.readline(1_024)
            is_too_large = is_too_large or piece is None or len(body) + size > MAX_BODY_BYTES
            if not is_too_large:
                body += piece

    def answer(self, status, text):
        content = b"" if status == 204 else text.encode()
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", str(len(content)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_):
        """A client that hangs up is no error of the receiver."""


if __name__ == "__main__":
    Server(("127.0.0.1", int(os.environ["PORT"])), Receiver).serve_forever()
