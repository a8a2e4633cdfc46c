#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Figures of noether-generate, as tables: bench/generator.sh BUILD_DIR > bench/results/generator.md
# First enumeration alone, for TASO's operators at levels 1 to MAX_LEVEL (default 4) with
# 1 and 2 threads; then everything, for TASO's and the default set at levels 1 to 3. CPU
# seconds are of the whole process; the least of RUNS runs (default 1). PARTS says which
# of "enumeration everything" to run (default both).
set -eu
program=${1:-build/release}/bin/noether-generate
runs=${RUNS:-1}
max_level=${MAX_LEVEL:-4}
parts=${PARTS:-enumeration everything}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# field FILE NAME: one value of the --stats output; sums over spaces where NAME has a *
field() {
    awk -v pattern="^generate\\.$2\$" \
        '$1 ~ pattern { sum += $2; n++ } END { printf (sum == int(sum) ? "%d" : "%.2f"), sum }' \
        "$1"
}

best() { # ARGUMENTS...: the run with the least CPU time, in $work/best
    least=
    for i in $(seq "$runs"); do
        "$program" "$@" --stats > "$work/stats"
        cpu=$(field "$work/stats" cpu)
        if [ -z "$least" ] || [ "$(echo "$cpu < $least" | bc)" = 1 ]; then
            least=$cpu
            cp "$work/stats" "$work/best"
        fi
    done
}

any='[a-z]*'
enumeration() { # SET LEVEL THREADS
    best --ops "$1" --level "$2" --threads "$3" --enumerate
    s=$work/best
    printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "$1" "$2" "$3" \
        "$(field "$s" "$any\\.level$2\\.enodes")" \
        "$(field "$s" "$any\\.level[0-9]\\.values")" \
        "$(field "$s" "$any\\.level$2\\.canonical-pairs")" \
        "$(field "$s" "$any\\.level$2\\.siblings")" \
        "$(field "$s" "$any\\.level$2\\.supports")" \
        "$(field "$s" "$any\\.level$2\\.kept")" \
        "$(field "$s" "$any\\.level[0-9]\\.cpu")" \
        "$(field "$s" "$any\\.level[0-9]\\.wall")" \
        "$(($(field "$s" peak-rss) / 1024))"
}

everything() { # SET LEVEL
    best --ops "$1" --level "$2" --threads 1
    s=$work/best
    printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "$1" "$2" \
        "$(field "$s" "$any\\.level$2\\.enodes")" \
        "$(field "$s" "$any\\.lift\\.pairs")" \
        "$(field "$s" groups)" "$(field "$s" candidates)" \
        "$(field "$s" "$any\\.level[0-9]\\.cpu")" "$(field "$s" cpu)" \
        "$(($(field "$s" peak-rss) / 1024))"
}

cat <<END
# Generator: figures by level

Made by \`bench/generator.sh\` on $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)
($(nproc) processors, load $(cut -d' ' -f1 /proc/loadavg) at the start); least of $runs runs.
END
case $parts in *enumeration*)
cat <<END

## Enumeration

e-nodes, canonical pairs and siblings are of that level alone; values and supports are
cumulative (leaves included; supports up to the level before); kept is the number of
e-nodes in memory at the end, of which pruning starts.

| set | level | threads | e-nodes | values | canonical pairs | siblings | supports | kept | CPU s | wall s | RSS MB |
|---|---|---|---|---|---|---|---|---|---|---|---|
END
for level in $(seq "$max_level"); do
    enumeration taso "$level" 1
    enumeration taso "$level" 2
done
for level in 1 2 3; do enumeration default "$level" 1; done
;; esac
case $parts in *everything*) ;; *) exit ;; esac
cat <<END

## Everything: enumeration, pruning, minimising, lifting

| set | level | e-nodes | pairs lifted | groups | candidates | CPU s, enumeration | CPU s, all | RSS MB |
|---|---|---|---|---|---|---|---|---|
END
for level in 1 2 3; do everything taso "$level"; done
for level in 1 2 3; do everything default "$level"; done
