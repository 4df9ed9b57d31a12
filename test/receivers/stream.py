"""A client of the stream in Python, with the standard library alone: prints every event once, in order, wherever the
connection or the process breaks.

BROKERAGE_URL=https://.../v2 STREAM_URL=wss://... BROKERAGE_CLIENT_ID=... BROKERAGE_CLIENT_SECRET=... \
POSITION_FILE=position python3 stream.py      (Python 3.9 or later)
"""
import base64
import hashlib
import json
import os
import random
import socket
import ssl
import struct
import time
import urllib.error
import urllib.parse
import urllib.request

POSITION_FILE = os.environ.get("POSITION_FILE", "position")
FIRST_DELAY_SECONDS, LONGEST_DELAY_SECONDS = 0.5, 30
OPEN_SECONDS = 15
QUIET_SECONDS = 330  # The service sends a heartbeat every five minutes.
TEMPORARY = ("service_unavailable", "internal_error", "rate_limit_exceeded")  # Send the message again.
MAX_BYTES = 1_048_576  # The service sends at most 32 KB at once.


class Refused(Exception):
    """No later attempt can succeed."""


def read_position() -> int:
    try:
        with open(POSITION_FILE, encoding="utf-8") as file:
            return int(file.read())
    except FileNotFoundError:
        return 0


# Number of the last event that was handled. Keep it where your data is, in the transaction that handles the event.
position = read_position()


def handle(message: dict) -> None:
    global position
    # An event may come again, on the same connection too: drop what is not higher.
    if int(message["sequence"]) <= position:
        return
    event = message["event"]
    print("event", message["sequence"], event["type"], event["id"], flush=True)
    position = int(message["sequence"])
    # The file is replaced, so that the end of the process leaves the old number or the new one, never an empty file.
    with open(f"{POSITION_FILE}.new", "w", encoding="utf-8") as file:
        file.write(str(position))
    os.replace(f"{POSITION_FILE}.new", POSITION_FILE)


def access_token() -> str:
    form = {
        "grant_type": "client_credentials",
        "client_id": os.environ["BROKERAGE_CLIENT_ID"],
        "client_secret": os.environ["BROKERAGE_CLIENT_SECRET"],
    }
    url = os.environ["BROKERAGE_URL"] + "/oauth/token"
    try:
        with urllib.request.urlopen(url, urllib.parse.urlencode(form).encode(), timeout=30) as reply:
            return json.load(reply)["access_token"]
    except urllib.error.HTTPError as error:
        if error.code in (400, 401, 403):
            raise Refused(f"The token endpoint answered {error.code}.") from error
        raise


class WebSocket:
    """The client's side of RFC 6455, as far as the stream needs it."""

    def __init__(self, url: str, token: str) -> None:
        parts = urllib.parse.urlsplit(url)
        secure = parts.scheme == "wss"
        host, port = parts.hostname or "", parts.port or (443 if secure else 80)
        plain = socket.create_connection((host, port), timeout=OPEN_SECONDS)
        self.socket = ssl.create_default_context().wrap_socket(plain, server_hostname=host) if secure else plain
        self.waiting = b""
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET {parts.path or '/'} HTTP/1.1\r\nHost: {parts.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Protocol: brokerage.v2+json\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
        )
        while b"\r\n\r\n" not in self.waiting:
            self._fill()
        head, self.waiting = self.waiting.split(b"\r\n\r\n", 1)
        status = int(head.split(b" ")[1])
        if status in (401, 403):
            raise Refused(f"The handshake was answered {status}.")
        accepted = hashlib.sha1(key.encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
        if status != 101 or base64.b64encode(accepted) not in head:
            raise ConnectionError(f"The handshake was answered {status}.")
        self.socket.settimeout(QUIET_SECONDS)

    def send(self, payload: bytes, opcode: int = 1) -> None:
        length = len(payload)
        size = struct.pack("!B", 0x80 | length) if length < 126 else struct.pack("!BH", 0x80 | 126, length)
        mask = os.urandom(4)  # A client masks all that it sends (RFC 6455 5.3).
        masked = bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))
        self.socket.sendall(bytes([0x80 | opcode]) + size + mask + masked)

    def receive(self) -> str:
        """The next message. Raises ConnectionError at the end of the connection."""
        message = b""
        while True:
            final_and_opcode, length = self._take(2)
            if length == 126:
                (length,) = struct.unpack("!H", self._take(2))
            elif length == 127:
                (length,) = struct.unpack("!Q", self._take(8))
            if length > MAX_BYTES:
                raise ConnectionError("A message is too large.")
            payload, opcode = self._take(length), final_and_opcode & 0x0F
            if opcode == 8:
                raise ConnectionError("The service closed the connection.")
            if opcode == 9:
                self.send(payload, 10)
            if opcode in (0, 1):
                message += payload
                if final_and_opcode & 0x80:
                    return message.decode()

    def close(self) -> None:
        self.socket.close()

    def _take(self, count: int) -> bytes:
        while len(self.waiting) < count:
            self._fill()
        taken, self.waiting = self.waiting[:count], self.waiting[count:]
        return taken

    def _fill(self) -> None:
        more = self.socket.recv(65536)
        if not more:
            raise ConnectionError("The connection has ended.")
        self.waiting += more


def receive_all(stream: WebSocket) -> None:
    channels = [{"name": "events", "after_sequence": str(position)}]
    subscribe = json.dumps({"type": "subscribe", "id": "all", "channels": channels}).encode()
    stream.send(subscribe)
    while True:
        message = json.loads(stream.receive())
        # The gateway answers a message that it could not pass on by one without a type.
        kind = message.get("type")
        if kind == "error":
            print("error", message["code"], message["detail"], flush=True)
        if kind is None or kind == "error" and message["code"] in TEMPORARY:
            time.sleep(1)
            stream.send(subscribe)
        if kind == "closing" and message["code"] == "access_ended":
            raise Refused(message["detail"])
        for each in message.get("messages", []):
            if each["type"] == "event":
                handle(each)


def main() -> None:
    failures = 0
    while True:
        try:
            stream = WebSocket(os.environ["STREAM_URL"], access_token())
            failures = 0
            try:
                receive_all(stream)
            finally:
                stream.close()
        except OSError as error:  # Also without an answer, and at the end of a connection.
            print("connection ended:", error, flush=True)
        # Half to whole of a growing delay, at random, so that clients do not come back all at once.
        most = min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2**failures)
        failures += 1
        time.sleep(random.uniform(most / 2, most))


main()
