"""A web server. It leaves its certificate in its directory, says its port, and ends with its input."""

from __future__ import annotations

import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAGE = b"x" * 10_000
CERTIFICATE = "certificate.pem"
KEY = "key.pem"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, format: str, *args: object) -> None:
        pass


def make_certificate() -> None:
    names = "subjectAltName=DNS:local.test,IP:127.0.0.1"
    request = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    files = ["-keyout", KEY, "-out", CERTIFICATE]
    subprocess.run(
        [*request, *files, "-days", "2", "-subj", "/CN=local.test", "-addext", names], check=True, capture_output=True
    )


make_certificate()
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(CERTIFICATE, KEY)
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.socket = context.wrap_socket(server.socket, server_side=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
