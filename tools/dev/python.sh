# shellcheck shell=bash
# Python interpreters and environments. An environment has a stamp of what it was made from; with the same stamp nothing is done.
#
#   .venv             the main interpreter: kernel, numpy, pandas, matplotlib; for tests pytest and more libraries too
#   .venvs/py312 …    the other interpreters of this machine among 3.11 to 3.13
#   .venvs/oldest     the oldest supported ipykernel and IPython, with Python 3.10 where the machine has it
#   .venvs/dev        formatters and linters
#   .venvs/docs       the builder of the documentation's site
#   .venvs/mcp        the protocol's own library, for the servers of tests/mcp and the clients of tests/mcp_server
#   .venvs/conan      Conan, for tests/packages
#   .venvs/examples   the server of the examples that comes from PyPI
#   .venvs/uv         what installs packages into all of them
#   .venvs/original   no environment, a folder of packages: the library whose generated packages kernels can import
#   .venvs/bench-…    what ./dev bench compares with

# A real interpreter >= 3.10 that can make environments; not a version manager's shim.
main_python() {
    local version python
    for version in 3.11 3.12 3.13 3.10 3; do
        python=$(find_python "$version") && { echo "$python"; return; }
    done
    return 1
}

need_main_python() {
    main_python >/dev/null || install_packages python3 python3-venv
    main_python || die "no Python >= 3.10 that can make virtual environments"
}

# find_python 3.12: prints the path of a usable interpreter of that version
find_python() {
    local candidate
    for candidate in "python$1" /usr/bin/"python$1" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/"python$1"; do
        # the file itself, and whether it can make environments
        "$candidate" -c '
import ensurepip, sys, venv
print(sys.executable)
sys.exit(sys.version_info < (3, 10))' 2>/dev/null && return
    done
    return 1
}

# make_venv DIR PYTHON REQUIREMENTS-FILE…
make_venv() {
    local dir=$1 python=$2
    shift 2
    local stamp
    stamp=$(stamp_of "$python" "$@")
    is_stamped "$dir/.stamp" "$stamp" && return
    (
        flock 9
        is_stamped "$dir/.stamp" "$stamp" && exit
        say "making $dir with $python"
        [[ "$(readlink -f "$dir/bin/python" 2>/dev/null)" == "$(readlink -f "$python")" ]] || rm -rf "$dir"
        "$python" -m venv --without-pip "$dir"
        install_into "$dir" "$@"
        compile_modules "$dir"
        echo "$stamp" >"$dir/.stamp"
    ) 9>"$(lock_of "$dir")"
}

# add_to_venv DIR NAME REQUIREMENTS-FILE…: more packages, with a stamp of their own
add_to_venv() {
    local dir=$1 name=$2
    shift 2
    local stamp
    stamp=$(cat "$dir/.stamp" "$@" | sha256sum)
    is_stamped "$dir/.stamp-$name" "$stamp" && return
    (
        flock 9
        is_stamped "$dir/.stamp-$name" "$stamp" && exit
        install_into "$dir" "$@"
        compile_modules "$dir"
        echo "$stamp" >"$dir/.stamp-$name"
    ) 9>"$(lock_of "$dir")"
}

stamp_of() {
    local python=$1
    shift
    { echo "$python"; "$python" -VV; cat "$@"; } | sha256sum
}

# .venv -> .venvs/.lock-.venv
lock_of() { echo ".venvs/.lock-$(basename "$1")"; }

is_stamped() { [[ -f $1 && $(<"$1") == "$2" ]]; }

has_kernels() { [[ $1 == .venv || $1 == .venvs/oldest || $1 == .venvs/py3* ]]; }

# install_into DIR REQUIREMENTS-FILE…: by uv, which takes a tenth of pip's time; by pip where there is no uv for this machine, or
# where it does not get what pip does, say from an index that only pip is told of.
install_into() {
    local dir=$1 file arguments=()
    shift
    for file in "$@"; do arguments+=(-r "$file"); done
    has_uv && uv_install "$dir" "${arguments[@]}" && return
    "$dir/bin/python" -m pip --version &>/dev/null || "$dir/bin/python" -m ensurepip >/dev/null
    "$dir/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --no-compile "${arguments[@]}" ||
        die "pip could not install $* into $dir"
}

# Kernels install packages themselves, by the pip of their environment.
uv_install() {
    local dir=$1 log
    shift
    log=$(log_file "uv-$(basename "$dir")")
    ! has_kernels "$dir" || set -- pip "$@"
    .venvs/uv/bin/uv pip install --quiet --system-certs --python "$dir/bin/python" "$@" 2>"$log" ||
        { say "$dir: uv could not install its packages ($log), so pip does"; return 1; }
}

has_uv() {
    local python stamp
    python=$(need_main_python)
    stamp=$(stamp_of "$python" python/requirements-uv.txt)
    (
        flock 9
        is_stamped .venvs/uv/.stamp "$stamp" || make_uv "$python" "$stamp"
    ) 9>"$(lock_of uv)"
    [[ -x .venvs/uv/bin/uv ]]
}

# Also a machine that uv does not run on is asked once only.
make_uv() {
    rm -rf .venvs/uv
    "$1" -m venv .venvs/uv
    .venvs/uv/bin/python -m pip install --quiet --disable-pip-version-check --no-input -r python/requirements-uv.txt \
        &>"$(log_file uv)" || say "there is no uv for this machine ($(log_file uv)): pip installs, which takes longer"
    echo "$2" >.venvs/uv/.stamp
}

# compile_modules DIR: compiles modules before they are used. A kernel in a sandbox cannot write compiled modules, and a process with
# PYTHONDONTWRITEBYTECODE does not. Tools import few of their modules, so theirs are left. Kernels and tests do as well: importing
# those modules takes less time than compiling all. matplotlib looks at every font of the machine meanwhile.
compile_modules() {
    if has_kernels "$1"; then
        import_once "$1"
    elif ! is_of_tools "$1"; then
        "$1/bin/python" -m compileall -q "$1/lib" || true # libraries have files for other versions of Python too
    fi
}

import_once() {
    mkdir -p .cache/home
    HOME=$PWD/.cache/home PYTHONDONTWRITEBYTECODE='' "$1/bin/python" -W ignore -c '
import contextlib, importlib, sys
for name in sys.argv[1:]:
    with contextlib.suppress(Exception):
        importlib.import_module(name)
if "pytest" in sys.modules:
    sys.modules["pytest"].main(["--version"])' \
        ipykernel.ipkernel IPython.core.magics.script IPython.core.magics.packaging jupyter_client pydantic stack_data \
        pygments.formatters.terminal256 ipywidgets matplotlib.pyplot pandas polars requests scipy.optimize sklearn.ensemble sympy \
        jsonschema pyte pytest >/dev/null || say "$1: not every library can be imported"
}

is_of_tools() { [[ $1 == .venvs/dev || $1 == .venvs/docs || $1 == .venvs/conan ]]; }

# --- The environments of this project.

need_venv() {
    mkdir -p .venvs
    local python
    python=$(need_main_python)
    make_venv .venv "$python" python/requirements.txt python/requirements-kernel.txt
}

need_test_venvs() {
    need_venv
    side_by_side need_main_test_venv "need_compat_venv 3.11" "need_compat_venv 3.12" \
        "need_compat_venv 3.13" need_oldest_venv need_original need_conan
}

need_main_test_venv() {
    add_to_venv .venv test python/requirements-test.txt
    need_libraries
}

need_oldest_venv() {
    make_venv .venvs/oldest "$(find_python 3.10 || find_python 3.11 || main_python)" python/requirements-oldest.txt python/requirements-test.txt
}

# What tests/support/long_calls.json calls. Their wheels may be missing for an old interpreter.
need_libraries() {
    .venv/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' || return 0
    add_to_venv .venv libraries python/requirements-libraries.txt
}

need_original() {
    local stamp
    stamp=$(stamp_of .venv/bin/python python/requirements-original.txt)
    is_stamped .venvs/original/.stamp "$stamp" && return
    rm -rf .venvs/original
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input --no-deps --target .venvs/original \
        -r python/requirements-original.txt || die "pip could not install mcpygen into .venvs/original"
    echo "$stamp" >.venvs/original/.stamp
}

need_compat_venv() {
    local python requirements=(python/requirements-kernel.txt python/requirements-test.txt)
    python=$(find_python "$1") || { say "no Python $1 on this machine: not tested"; return; }
    is_compat_python "$python" || return 0
    # All tests that have to do with an interpreter are run with the newest one, which libraries are for; with the others a few are.
    [[ $1 != "$(newest_compat_version)" ]] || requirements=(python/requirements.txt "${requirements[@]}")
    make_venv ".venvs/py${1/./}" "$python" "${requirements[@]}"
}

# Not the version of the main one
is_compat_python() { [[ "$("$1" -V)" != "$(.venv/bin/python -V)" ]]; }

newest_compat_version() {
    local version python
    for version in 3.13 3.12 3.11; do
        python=$(find_python "$version") && is_compat_python "$python" && { echo "$version"; return; }
    done
}

# The further interpreters of the tests that there are, the oldest first, as a CMake list.
compat_pythons() {
    local python list=() IFS=';'
    for python in "$PWD"/.venvs/oldest/bin/python "$PWD"/.venvs/py3*/bin/python; do
        [[ ! -x $python ]] || list+=("$python")
    done
    echo "${list[*]}"
}

# What tests/mcp talks to, and what talks to our server in tests/mcp_server.
need_mcp_servers() {
    mkdir -p .venvs
    make_venv .venvs/mcp "$(need_main_python)" python/requirements-mcp.txt
    install_node_packages mcp tests/mcp/node
    install_node_packages mcp-clients tests/mcp_server/node
    install_node_packages mcp-inspector tests/mcp_server/inspector
}

# What examples/mcp.json names.
need_example_servers() {
    need_example_venv
    need_example_packages
}

need_example_venv() {
    mkdir -p .venvs
    make_venv .venvs/examples "$(need_main_python)" python/requirements-examples.txt
}

need_example_packages() { install_node_packages examples examples/servers; }

need_conan() { make_venv .venvs/conan "$(need_main_python)" python/requirements-conan.txt; }

need_dev_venv() {
    mkdir -p .venvs
    make_venv .venvs/dev "$(need_main_python)" python/requirements-dev.txt
}

need_docs_venv() {
    mkdir -p .venvs
    make_venv .venvs/docs "$(need_main_python)" python/requirements-docs.txt
}
