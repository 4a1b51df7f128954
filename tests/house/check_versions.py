"""The version is written in include/ipybox/version.hpp; the package recipes say the same."""

from __future__ import annotations

import json
import re
import sys

from tree import INCLUDE, REPOSITORY, finish


def header_version() -> tuple[str, str]:
    """The version as its string and as its three numbers."""
    text = (INCLUDE / "ipybox" / "version.hpp").read_text(encoding="utf-8")
    macros = dict(re.findall(r'#define IPYBOX_VERSION_(\w+) "?([0-9.]+)"?', text))
    return macros["STRING"], ".".join(macros[part] for part in ("MAJOR", "MINOR", "PATCH"))


def main() -> int:
    problems = []
    version, numbers = header_version()
    if version != numbers:
        problems.append(f"version.hpp says {version} and {numbers}")
    for name in ("vcpkg.json", "packaging/vcpkg/ports/ipybox/vcpkg.json"):
        manifest = json.loads((REPOSITORY / name).read_text(encoding="utf-8"))
        if manifest["version"] != version:
            problems.append(f"{name} says {manifest['version']}, version.hpp {version}")
    if f'"{version}":' not in (REPOSITORY / "packaging/conan-center/config.yml").read_text(encoding="utf-8"):
        problems.append(f"packaging/conan-center/config.yml lacks {version}")
    recipe = (REPOSITORY / "conanfile.py").read_text(encoding="utf-8")
    compile(recipe, "conanfile.py", "exec", dont_inherit=True)
    if "version.hpp" not in recipe:
        problems.append("conanfile.py does not read version.hpp")
    return finish(problems, f"everything says {version}")


if __name__ == "__main__":
    sys.exit(main())
