"""A receiver of webhooks in Python 3.9 or later, without dependencies.

WEBHOOK_SECRET=whsec_... PORT=4000 python3 receiver.py
"""
import base64
import binascii
import hashlib
import hmac
import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOLERANCE_SECONDS = 300
MAX_BYTES = 1_048_576
KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"), validate=True)
if len(KEY) != 32:
    raise SystemExit("WEBHOOK_SECRET is not the secret of an endpoint.")

# Events that are done already. A delivery may come twice; keep these where your data is.
seen = set()
# The number of the newest margin event of each account; keep these where your data is.
newest = {}
lock = threading.Lock()


def is_genuine(headers, body):
    """Whether the call is ours: signed over `id.timestamp.body`, and not older than five minutes."""
    event_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        return False
    if abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    signed = f"{event_id}.{timestamp}.".encode() + body
    expected = hmac.new(KEY, signed, hashlib.sha256).digest()
    # While a secret is rotated there are two signatures, one of each secret.
    for signature in headers.get("webhook-signature", "").split(" "):
        version, _, text = signature.partition(",")
        try:
            given = base64.b64decode(text, validate=True)
        except binascii.Error:
            continue
        if version == "v1" and hmac.compare_digest(given, expected):
            return True
    return False


def keep_newest(event):
    """Deliveries come in any order. A margin event does not raise the version of its account: its number counts."""
    if event["type"] not in ("margin.call", "margin.recovered", "stop.out"):
        return
    account, number = event["resource"]["id"], int(event["sequence"])
    if number > newest.get(account, 0):
        newest[account] = number
        print("margin", account, event["type"], number, flush=True)


def accept(event_id, event):
    """Put the event where your own work finds it, and answer at once: after ten seconds the call counts as failed."""
    keep_newest(event)
    print("accepted", event_id, event["type"], flush=True)


class Receiver(BaseHTTPRequestHandler):
    timeout = 10

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            return self.answer(411)
        if int(length) > MAX_BYTES:
            return self.answer(413)
        # The exact bytes that were signed: a body that was parsed and written again has others.
        body = self.rfile.read(int(length))
        if not is_genuine(self.headers, body):
            return self.answer(400)
        event_id = self.headers["webhook-id"]
        with lock:
            if event_id not in seen:
                accept(event_id, json.loads(body))
                seen.add(event_id)
        return self.answer(204)

    def refuse(self):
        self.answer(405)

    do_GET = do_PUT = do_PATCH = do_DELETE = refuse

    def answer(self, status):
        self.close_connection = status in (405, 411, 413)
        self.send_response(status)
        if status == 405:
            self.send_header("Allow", "POST")
        if status != 204:
            self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *words):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "4000"))), Receiver)
print("listening", server.server_address[1], flush=True)
server.serve_forever()
