"""What all suites of pytest have in common."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

STRICT = os.environ.get("IPYBOX_TEST_STRICT") == "1"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport() -> Generator[None, object, None]:
    """Where IPYBOX_TEST_STRICT is 1 nothing may be missing: a test that would be skipped fails.

    Unless it is about another kind of machine: `skip("elsewhere: …")`.
    """
    outcome = yield
    report: pytest.TestReport = outcome.get_result()  # type: ignore[attr-defined]
    if STRICT and report.skipped and not hasattr(report, "wasxfail"):
        why = str(report.longrepr[-1])  # type: ignore[index]
        if not why.startswith("Skipped: elsewhere: "):
            report.outcome = "failed"
            report.longrepr = f"skipped, which IPYBOX_TEST_STRICT forbids: {why}"
