"""No function of a service is in an object file that includes none: compiles_no_service.py NM OBJECT"""

from __future__ import annotations

import re
import subprocess
import sys

#: A class of each: approvals, actions, servers, tools of the application, their packages, hosts, installations.
_services = re.compile(
    r"\bipybox::(?:\w+::)*(?:approval_gate|approval_machine|action_router|server_registry|tool_packages|server_packages"
    r"|network_proxy|package_installation|\w+_service)::"
)
_of_session = re.compile(r"\bipybox::detail::(?:session|offered)_service::")
_session = re.compile(r"\bipybox::detail::session::")


def main(nm: str, compiled: str) -> int:
    listed = subprocess.run([nm, "--defined-only", "--demangle", compiled], capture_output=True, text=True, check=True)
    names = [line.split(" ", 2)[-1] for line in listed.stdout.splitlines()]
    of_services = [name for name in names if _services.match(name) and not _of_session.match(name)]
    for name in of_services:
        print(f"compiled, and not needed: {name}")
    if not any(_session.match(name) for name in names):
        print(f"{compiled} has no session: it is not a program of headers alone")
        return 1
    print(f"{len(names)} functions and variables, {len(of_services)} of services")
    return 1 if of_services else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
