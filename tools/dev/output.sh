# shellcheck shell=bash
# Words for the person in front of the terminal.

say() { printf '\033[1m==> %s\033[0m\n' "$*" >&2; }

# step NAME COMMAND…: says how long the command took; nothing where that is less than a second. NAME has _ in place of spaces.
step() {
    local name=${1//_/ } start=$SECONDS
    shift
    "$@"
    [[ $((SECONDS - start)) -lt 1 ]] || say "$name: done in $((SECONDS - start)) s"
}

die() {
    printf '\033[1;31merror:\033[0m %s\n' "$*" >&2
    exit 1
}

# side_by_side COMMAND…: all of them at once; fails when one does
side_by_side() {
    local command pid pids=() outcome=0
    for command in "$@"; do
        # words of a command are apart on purpose
        # shellcheck disable=SC2086
        ($command) &
        pids+=("$!")
    done
    for pid in "${pids[@]}"; do wait "$pid" || outcome=1; done
    return "$outcome"
}
