# shellcheck shell=bash
# Words for the person in front of the terminal.

say() { printf '\033[1m==> %s\033[0m\n' "$*" >&2; }

die() {
    printf '\033[1;31merror:\033[0m %s\n' "$*" >&2
    exit 1
}
