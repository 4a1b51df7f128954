# shellcheck shell=bash
# Configuring and building: presets of CMakePresets.json, into build/PRESET.

# Compilers at a time: one a processor, where there are 2.7 GB of memory for each: so much takes half of the library.
most_compilers() {
    local processors by_memory
    processors=$(nproc)
    by_memory=$(($(awk '/^MemTotal/ {print $2}' /proc/meminfo) / 2700000))
    echo $((by_memory < 1 ? 1 : by_memory < processors ? by_memory : processors))
}

: "${IPYBOX_JOBS:=$(most_compilers)}"
: "${IPYBOX_TEST_JOBS:=$((2 * $(nproc)))}" # tests at a time: half of their time they wait

# The directory of a build is not part of what is compiled: what one preset has compiled, another that compiles it alike has too.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD}
# Of sources with a precompiled header too.
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}

# configure PRESET CMAKE-ARGUMENT…: only when never done, or when the arguments or the presets are not what they were
configure() {
    local preset=$1
    shift
    local stamp=build/$preset/.configured made_from
    made_from="$* $(sha256sum CMakePresets.json)"
    [[ -f $stamp && $(<"$stamp") == "$made_from" ]] && return
    say "configuring $preset"
    cmake --preset "$preset" -Wno-dev "$@" >"$(log_file configure-"$preset")" 2>&1 ||
        { cat "$(log_file configure-"$preset")" >&2; die "configuring $preset failed"; }
    echo "$made_from" >"$stamp"
}

# build PRESET CMAKE-BUILD-ARGUMENT…
build() {
    local preset=$1
    shift
    cmake --build --preset "$preset" --parallel "$IPYBOX_JOBS" "$@"
}

log_file() {
    mkdir -p build/log
    echo "build/log/$1.log"
}

# The program, quiet when there is nothing to do.
build_program() {
    configure release ${IPYBOX_STRICT_BUILD:+-DCMAKE_COMPILE_WARNING_AS_ERROR=ON}
    local log
    log=$(log_file build-release)
    say "building the program (build/release/bin/ipybox)"
    build release --target ipybox_cli >"$log" 2>&1 || { cat "$log" >&2; die "the build failed"; }
}
