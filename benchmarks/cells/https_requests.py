# Measures requests, each with a connection of its own.
import json
import ssl
import time
import urllib.request

trusted = ssl.create_default_context(cafile="certificate.pem")


def request(url):
    begin = time.perf_counter()
    with urllib.request.urlopen(url, context=trusted) as answer:
        assert len(answer.read()) == 10_000
    return 1000 * (time.perf_counter() - begin)


def measure(url):
    request(url)
    samples = [request(url) for _ in range(20)]
    with open("samples", "w") as file:
        json.dump(samples, file)
