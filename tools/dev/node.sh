# shellcheck shell=bash
# Packages of Node, for tests and examples: into .node/NAME, exactly as a committed package-lock.json pins them.

# The sandbox-runtime that tests of srt_sandbox run. It needs ripgrep and socat, too, and bubblewrap.
need_srt() { install_node_packages srt tests/srt; }

# install_node_packages NAME FOLDER: what FOLDER/package-lock.json says; with the same lock file nothing is done
install_node_packages() {
    local name=$1 folder=$2 stamp
    stamp=$(cat "$folder/package.json" "$folder/package-lock.json" | sha256sum)
    is_stamped ".node/$name/.stamp" "$stamp" && return
    need_packages node
    mkdir -p .node
    (
        flock 9
        is_stamped ".node/$name/.stamp" "$stamp" && exit
        say "installing the Node packages of $folder into .node/$name"
        rm -rf ".node/$name"
        mkdir ".node/$name"
        cp "$folder/package.json" "$folder/package-lock.json" ".node/$name/"
        # no scripts: what is installed runs when a test starts it, and not before
        npm ci --prefix ".node/$name" --ignore-scripts --no-audit --no-fund --loglevel error >"$(log_file "node-$name")" 2>&1 ||
            { cat "$(log_file "node-$name")" >&2; die "npm could not install the packages of $folder"; }
        echo "$stamp" >".node/$name/.stamp"
    ) 9>.node/.lock
}
