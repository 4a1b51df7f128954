"""Hosts in networks of companies: own addresses, a proxy, an index, certificates, and what code is told."""

from __future__ import annotations

import base64
import hashlib
import http.server
import json
import os
import select
import socket
import ssl
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from program import Program

#: Prints what a URL has, or why it cannot be had.
FETCH = """
import sys, urllib.request
try: print(urllib.request.urlopen(sys.argv[1], timeout=30).read().decode())
except OSError as error: print(error)
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving(directory: Path, context: ssl.SSLContext | None = None) -> Iterator[int]:
    """A web server on the loopback with the files of a directory."""
    server = http.server.ThreadingHTTPServer(("0.0.0.0", 0), partial(Quiet, directory=str(directory)))
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


class Tunnel(Quiet):
    """A proxy of a company: it knows hosts by names of its own, and asks for a password."""

    asked: list[tuple[str, str | None]] = []
    leads_to = 0

    def do_CONNECT(self) -> None:
        self.asked.append((self.path, self.headers.get("Proxy-Authorization")))
        if self.path.startswith("closed."):
            self.send_error(403, "Blocked by policy")
            return
        with socket.create_connection(("127.0.0.1", self.leads_to)) as server:
            self.send_response(200)
            self.end_headers()
            self.wfile.flush()
            ends = [self.connection, server]
            while ready := select.select(ends, [], [], 30)[0]:
                for end in ready:
                    piece = end.recv(1 << 16)
                    if not piece:
                        self.close_connection = True
                        return
                    ends[1 - ends.index(end)].sendall(piece)

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers.get("Proxy-Authorization")))
        self.send_response(200)
        self.send_header("Content-Length", "9")
        self.end_headers()
        self.wfile.write(b"by proxy\n")


@pytest.fixture
def tunnel() -> Iterator[http.server.ThreadingHTTPServer]:
    Tunnel.asked = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Tunnel)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def wheel(directory: Path, name: str = "ipybox_small") -> None:
    """Writes a wheel with one module, as an index serves it: DIRECTORY/simple/NAME/."""
    folder = directory / "simple" / name.replace("_", "-")
    folder.mkdir(parents=True)
    info = f"{name}-1.0.dist-info"
    files = {
        f"{name}.py": "x = 6 * 7\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            record += f"{path},sha256={digest},{len(text)}\n"
            archive.writestr(path, text)
        archive.writestr(f"{info}/RECORD", f"{record}{info}/RECORD,,\n")


def certificate(directory: Path, *hosts: str) -> tuple[Path, ssl.SSLContext]:
    """A certificate that no system trusts."""
    file, key = directory / "ca.pem", directory / "key.pem"
    names = "subjectAltName=" + ",".join(f"{'IP' if host[0].isdigit() else 'DNS'}:{host}" for host in hosts)
    request = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    request += ["-keyout", str(key), "-out", str(file), "-days", "2", "-subj", "/CN=test", "-addext", names]
    subprocess.run(request, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file, key)
    return file, context


def test_code_reads_why_a_host_is_refused(boxed: Program) -> None:
    denied = {"deny": [{"kind": "network", "host": "b.test", "reason": "not this one"}]}
    rules = boxed.write("rules.json", json.dumps(denied))
    boxed.write("fetch.py", FETCH)
    told = boxed.run("--deny", "--allow-host", "127.0.0.2", "fetch.py", "https://127.0.0.2/").out
    assert "403 127.0.0.2 leads to 127.0.0.2, an address of this machine or of a network that is not public" in told
    told = boxed.run("--allow-host", "a.test", "--approve", rules, "fetch.py", "https://b.test/").out
    assert "Tunnel connection failed: 403 the connection to b.test:443 is rejected: not this one" in told


def test_an_address_of_the_own_network(boxed: Program) -> None:
    boxed.write("page", "a page")
    boxed.write("fetch.py", FETCH)
    with serving(boxed.directory) as port:
        url = f"http://127.0.0.2:{port}/page"
        assert "403: 127.0.0.2 leads to" in boxed.run("--allow-host", f"127.0.0.2:{port}", "fetch.py", url).out
        opened = boxed.run("--allow-host", f"127.0.0.2:{port}", "--allow-address", "127.0.0.0/8", "fetch.py", url)
        assert opened.out == "a page\n"
        network = {"allowedDomains": [f"127.0.0.2:{port}"], "allowedAddresses": ["127.0.0.2"]}
        file = boxed.write("sandbox.json", json.dumps({"network": network}))
        assert boxed.run("--sandbox-config", file, "fetch.py", url).out == "a page\n"
    wrong = boxed.run("--allow-address", "localhost", "-c", "1")
    assert wrong.code == 2
    assert '"localhost" is not a range of addresses' in wrong.err


def test_a_proxy_of_the_network(boxed: Program, tunnel: http.server.ThreadingHTTPServer) -> None:
    boxed.write("page", "a page")
    boxed.write("fetch.py", FETCH)
    certificates, context = certificate(boxed.directory, "far.test")
    with serving(boxed.directory, context) as port:
        Tunnel.leads_to = port
        address = f"http://me:secret@127.0.0.1:{tunnel.server_port}"
        hosts = [word for name in ("far", "near", "closed") for word in ("--allow-host", f"{name}.test")]
        options = (*hosts, "--ca-certs", str(certificates), "fetch.py")
        assert boxed.run("--proxy", address, *options, "https://far.test/page").out == "a page\n"
        assert boxed.run("--proxy", address, *options, "http://far.test/page").out == "by proxy\n\n"
        assert "403 Blocked by policy" in boxed.run("--proxy", address, *options, "https://closed.test/").out
        authorization = "Basic " + base64.b64encode(b"me:secret").decode()
        assert Tunnel.asked == [
            ("far.test:443", authorization),
            ("http://far.test:80/page", authorization),
            ("closed.test:443", authorization),
        ]
        boxed.env |= {"HTTPS_PROXY": address, "NO_PROXY": "near.test,localhost"}
        assert boxed.run("--proxy", "env", *options, "https://far.test/page").out == "a page\n"
        assert "is not found" in boxed.run("--proxy", "env", *options, "https://near.test/page").out
        assert len(Tunnel.asked) == 4
        proxy = {"https": address}
        network = {"allowedDomains": ["far.test"], "parentProxy": proxy}
        file = boxed.write("sandbox.json", json.dumps({"network": network}))
        given = ("--sandbox-config", file, "--ca-certs", str(certificates), "fetch.py", "https://far.test/page")
        assert boxed.run(*given).out == "a page\n"
    boxed.env["HTTPS_PROXY"] = "proxy:3128"
    for url, why in (("proxy:3128", "must be a URL as http://"), ("env", "neither HTTPS_PROXY nor HTTP_PROXY")):
        wrong = boxed.run("--proxy", url, "-c", "1")
        assert (wrong.code, wrong.out) == (2, "")
        assert why in wrong.err


def test_an_index_is_reached_at_its_address(boxed: Program) -> None:
    wheel(boxed.directory)
    code = "%pip install -q ipybox_small\nimport ipybox_small\nprint(ipybox_small.x)"
    with serving(boxed.directory) as port:
        for host in ("127.0.0.1", "localhost"):
            index = f"http://{host}:{port}/simple"
            ended = boxed.run("--packages", host, "--package-index", index, "--yes", "-c", code)
            assert "42" in ended.out, ended.err


def test_an_index_behind_a_proxy(boxed: Program, tunnel: http.server.ThreadingHTTPServer) -> None:
    wheel(boxed.directory)
    certificates, context = certificate(boxed.directory, "index.test")
    code = "%pip install -q ipybox_small\nimport ipybox_small\nprint(ipybox_small.x)"
    with serving(boxed.directory, context) as port:
        Tunnel.leads_to = port
        options = ("--proxy", f"http://127.0.0.1:{tunnel.server_port}", "--ca-certs", str(certificates), "--yes")
        index = ("--packages", "layer", "--package-index", "https://index.test/simple")
        ended = boxed.run(*options, *index, "-c", code)
        assert "42" in ended.out, ended.err
    assert {host for host, _ in Tunnel.asked} == {"index.test:443"}


@pytest.mark.parametrize("named_by", ["PIP_CERT", "SSL_CERT_FILE", "pip.conf", "--ca-certs", None])
def test_certificates_that_the_user_has_named_for_pip(boxed: Program, named_by: str | None) -> None:
    wheel(boxed.directory)
    certificates, context = certificate(boxed.directory, "localhost")
    options: list[str] = []
    boxed.env.update(dict.fromkeys(["PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"], ""))
    boxed.env["PIP_CONFIG_FILE"] = os.devnull
    if named_by == "pip.conf":
        boxed.env["PIP_CONFIG_FILE"] = boxed.write("pip.conf", f"[global]\ncert = {certificates}\n")
    elif named_by == "--ca-certs":
        options = ["--ca-certs", str(certificates)]
    elif named_by:
        boxed.env[named_by] = str(certificates)
    code = "%pip install -q ipybox_small\nimport ipybox_small\nprint(ipybox_small.x)"
    with serving(boxed.directory, context) as port:
        index = ("--packages", "layer", "--package-index", f"https://localhost:{port}/simple", "--yes", "-c", code)
        ended = boxed.run(*options, *index)
    assert ("42" in ended.out) == (named_by is not None), ended.err
