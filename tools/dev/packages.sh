# shellcheck shell=bash
# System packages (Debian, Ubuntu): installed when missing, and only those that a verb needs.

# Each word is PACKAGE or PACKAGE=COMMAND; with a command, having that command is enough.
packages_of() {
    case $1 in
        build)
            echo g++=g++ cmake=cmake ninja-build=ninja pkg-config=pkg-config libasio-dev nlohmann-json3-dev \
                cppzmq-dev libzmq3-dev libexpected-dev libssl-dev libcurl4-openssl-dev libhttp-parser-dev libcli11-dev
            ;;
        run) echo bubblewrap=bwrap ;;
        test) echo catch2 ccache=ccache strace=strace tmux=tmux "$(packages_of srt)" "$(packages_of shells)" ;;
        shells) echo zsh=zsh fish=fish groff=groff mandoc=mandoc ;; # what the completions and the manual page are tried in
        srt) echo ripgrep=rg socat=socat ;;
        clang-16) echo clang-16=clang++-16 libclang-rt-16-dev ;;
        clang-19) echo clang-19=clang++-19 lld-19=ld.lld-19 libclang-rt-19-dev libc++-19-dev libc++abi-19-dev llvm=llvm-symbolizer ;;
        lint) echo clang-19=clang++-19 clang-tidy-19=clang-tidy-19 ;;
        node) echo nodejs=node npm=npm ;;
        docs) echo doxygen=doxygen ;;
        *) die "no such group of packages: $1" ;;
    esac
}

# need_packages build run …
need_packages() {
    local missing=() group word
    for group in "$@"; do
        for word in $(packages_of "$group"); do
            has_package "$word" || missing+=("${word%%=*}")
        done
    done
    [[ ${#missing[@]} -eq 0 ]] || install_packages "${missing[@]}"
}

has_package() {
    if [[ $1 == *=* ]] && command -v "${1#*=}" >/dev/null; then
        return 0
    fi
    dpkg-query -W -f '${db:Status-Abbrev}' "${1%%=*}" 2>/dev/null | grep -q '^ii'
}

install_packages() {
    command -v apt-get >/dev/null || die "this is no Debian or Ubuntu; install what these packages hold: $*"
    say "installing packages: $*"
    as_root apt-get update -qq || true
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null ||
        die "could not install $*; as root: apt-get install $*"
}

as_root() {
    if [[ $(id -u) -eq 0 ]]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "neither root nor sudo; as root: $*"
    fi
}
