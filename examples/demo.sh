#!/bin/sh
# Inspects a tokio program without a probe, in which two tasks wait for each other. Then records a program
# that loses 47 wakeups, shows which coroutines are stuck and why, and draws a flame graph of where all
# coroutines waited. Each command is shown before it runs.
set -eu

cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
out=$target/demo
bin=$target/quick
mkdir -p "$out"

run() {
    printf '\n$ %s\n' "$*"
    "$@"
}

# Only what is shown here, and with fewer optimizations than a release, which would take long to compile.
cargo build --profile quick --locked --no-default-features -p ctp-record -p ctp-report -p ctp-examples \
    --bin ctp-record --bin ctp-report --bin two_transfers --bin lost_wakeup

"$bin/two_transfers" &
unmodified=$!
# It ends by itself, too.
trap 'kill "$unmodified" 2>/dev/null || true' EXIT
sleep 1
run "$bin/ctp-record" -p "$unmodified" -o "$out/unmodified.data"
run "$bin/ctp-report" --stuck -i "$out/unmodified.data"

run "$bin/ctp-record" -o "$out/ctp.data" -- "$bin/lost_wakeup"
run "$bin/ctp-report" --stuck -i "$out/ctp.data"
run "$bin/ctp-report" --flame "$out/flame.svg" -i "$out/ctp.data"

printf '\nThe flame graph is in %s; open it in a browser.\n' "$out/flame.svg"
