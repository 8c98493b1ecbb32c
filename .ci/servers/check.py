"""Shows that llama-servers work: check.py MODEL NAME=COMMAND...

Each is started with the model on a Unix socket, asked for /health until it answers 200, asked for a few tokens,
and ended. Both answers are shown. Exits 1, with the server's log, when one does not do its part in time.
"""

import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

READY_SECONDS = 120
REQUEST_SECONDS = 30
STOP_SECONDS = 15


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=REQUEST_SECONDS)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def ask(path, method, url, body=None):
    connection = UnixConnection(path)
    try:
        connection.request(method, url, body and json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def wait_until_ready(server, path):
    """Returns the answers seen on the way and the last one's body."""
    deadline = time.monotonic() + READY_SECONDS
    seen = []
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise RuntimeError(f"ended with status {server.returncode} before it was ready")
        try:
            status, body = ask(path, "GET", "/health")
        except OSError:
            status, body = "refused", ""
        if not seen or seen[-1] != str(status):
            seen.append(str(status))
        if status == 200:
            return seen, body
        time.sleep(0.05)
    raise RuntimeError(f"not ready after {READY_SECONDS} s; /health: {', '.join(seen)}")


def check(name, command, model, folder):
    path = folder / f"{name}.sock"
    log = folder / f"{name}.log"
    # Settings of the user's own must not reach it.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("LLAMA_")}
    with open(log, "wb") as output:
        server = subprocess.Popen(
            [command, "-m", model, "--host", str(path), "-c", "512"],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment,
        )
    try:
        seen, health = wait_until_ready(server, path)
        print(f"{name}: /health {', '.join(seen)}: {health}")
        request = {"prompt": "Hello", "n_predict": 16, "temperature": 0}
        status, body = ask(path, "POST", "/completion", request)
        answer = json.loads(body)
        if status != 200 or answer.get("tokens_predicted") != 16:
            raise RuntimeError(f"/completion answered {status}: {body}")
        print(f"{name}: /completion {status}: {answer['content']!r}")
        server.send_signal(signal.SIGTERM)
        status = server.wait(STOP_SECONDS)
        if status not in (0, -signal.SIGTERM):
            raise RuntimeError(f"SIGTERM ended it with status {status}")
    except Exception as error:
        print(f"{name}: {error!r}; its log:\n{log.read_text(errors='replace')}", file=sys.stderr)
        return False
    finally:
        server.kill()
        server.wait()
    return True


def main():
    model, *servers = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="rocload-servers-") as folder:
        results = [check(*server.split("=", 1), model, pathlib.Path(folder)) for server in servers]
    sys.exit(0 if results and all(results) else 1)


main()
