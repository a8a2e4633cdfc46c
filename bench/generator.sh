#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Figures of noether-generate for TASO's operators and the default set, levels 1 to 3, as
# a table: bench/generator.sh BUILD_DIR > bench/results/generator.md
# CPU seconds are of one thread and of the whole process; the least of RUNS runs (default 3).
set -eu
program=${1:-build/release}/bin/noether-generate
runs=${RUNS:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# field FILE NAME: one value of the --stats output; sums over spaces where NAME has a *
field() {
    awk -v pattern="^generate\\.$2\$" \
        '$1 ~ pattern { sum += $2; n++ } END { printf (sum == int(sum) ? "%d" : "%.2f"), sum }' \
        "$1"
}

row() { # SET LEVEL
    best=
    for i in $(seq "$runs"); do
        "$program" --ops "$1" --level "$2" --stats > "$work/stats"
        cpu=$(field "$work/stats" cpu)
        if [ -z "$best" ] || [ "$(echo "$cpu < $best" | bc)" = 1 ]; then
            best=$cpu
            cp "$work/stats" "$work/best"
        fi
    done
    s=$work/best
    any='[a-z]*'
    printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "$1" "$2" \
        "$(field "$s" "$any\\.level$2\\.enodes")" \
        "$(field "$s" "$any\\.level[0-9]\\.values")" \
        "$(field "$s" "$any\\.level$2\\.canonical-pairs")" \
        "$(field "$s" "$any\\.level$2\\.siblings")" \
        "$(field "$s" "$any\\.lift\\.pairs")" \
        "$(field "$s" groups)" "$(field "$s" candidates)" \
        "$(field "$s" "$any\\.level[0-9]\\.cpu")" "$best" \
        "$(($(field "$s" peak-rss) / 1024))"
}

cat <<END
# Generator: figures by level

Made by \`bench/generator.sh\` on $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1),
one thread; least of $runs runs. e-nodes, canonical pairs and siblings are of that level
alone, values are cumulative (leaves included).

| set | level | e-nodes | values | canonical pairs | siblings | pairs lifted | groups | candidates | CPU s, enumeration | CPU s, all | RSS MB |
|---|---|---|---|---|---|---|---|---|---|---|---|
END
for level in 1 2 3; do row taso "$level"; done
for level in 1 2 3; do row default "$level"; done
