#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# How far each family of operators goes: bench/families.sh BUILD_DIR > bench/results/families.md
# All families at 3 operators, pairs of families at 4, single families at 5. A row that
# takes longer than LIMIT seconds (default 1800) says so. ROWS restricts the rows to
# those whose name contains it.
set -eu
program=${1:-build/release}/bin/noether-generate
limit=${LIMIT:-1800}
rows=${ROWS:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# field NAME: sum of the values of the --stats output whose names match
field() {
    awk -v pattern="^generate\\.$1\$" \
        '$1 ~ pattern { sum += $2 } END { printf (sum == int(sum) ? "%d" : "%.1f"), sum }' \
        "$work/stats"
}

any='[a-z]*'
row() { # NAME OPS LEVEL
    case $1 in *"$rows"*) ;; *) return ;; esac
    if ! timeout "$limit" "$program" --db "$work/$$.db" --ops "$2" --level "$3" --stats \
        > "$work/stats" 2> "$work/errors"; then
        printf '| %s | `%s` | %s | over %s s, or refused: %s |\n' "$1" "$2" "$3" "$limit" \
            "$(head -1 "$work/errors")"
        rm -f "$work/$$.db"*
        return
    fi
    rm -f "$work/$$.db"*
    printf '| %s | `%s` | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' \
        "$1" "$2" "$3" \
        "$(field "$any\\.level[0-9]\\.enodes")" \
        "$(field "$any\\.level[0-9]\\.canonical-pairs")" \
        "$(field "$any\\.prune\\.accepted")" \
        "$(($(field "$any\\.prune\\.accepted") - $(field "$any\\.minimize\\.proved")))" \
        "$(field "$any\\.lift\\.groups")" \
        "$(field candidates)" \
        "$(field "$any\\.level[0-9]\\.cpu")" \
        "$(field "$any\\.prune\\.cpu")" \
        "$(field "$any\\.minimize\\.cpu")" \
        "$(field "$any\\.lift\\.cpu")" \
        "$(($(field peak-rss) / 1024))"
}

cat <<END
# How far each family goes

Made by \`bench/families.sh\` on $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)
($(nproc) processors, load $(cut -d' ' -f1 /proc/loadavg) at the start), one run each.

Equal pairs are the e-nodes with their variables in order that have the value of another
one, over all levels; accepted are those that no derivation within the universe or by
larger terms explains; minimal are those left after backward elimination; groups are
distinct laws after lifting, those that others derive (kept for when a derivation fails)
not counted; candidates are all texts for the verifier, with these. CPU seconds.

| family | --ops | operators | e-nodes | equal pairs | accepted | minimal | groups | candidates | enumerate | prune | minimize | lift | MB |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
END
row "all" default 3
row "TASO's" taso 4
row "elementwise, reduce" matrix:add,mul,sub,div,reduce_sum,reduce_mean 4
row "elementwise, exp" matrix:add,mul,sub,div,exp,softmax 4
row "elementwise, layout" layout:add,mul,transpose,reshape,concat,slice 4
row "elementwise, order" order:add,mul,max,min,relu,abs,neg 4
row "linear, elementwise" product:matmul,add,sub,mul,relu 4
row "linear, layout" product:matmul,add,concat,slice,transpose 4
row "linear, reduce" product:matmul,add,mul,reduce_sum,reduce_mean 4
row "attention" batch:matmul,transpose,reshape,softmax,mul 4
row "convolution, elementwise" image:conv,add,mul,relu 4
row "convolution, layout" image:conv,concat,slice,pad 4
row "convolution, pooling" image:conv,average_pool,max_pool,reduce_mean 4
row "convolution kernels" kernel 4
row "grouped convolution" group 4
row "shifts" shift 4
row "elementwise" matrix:add,mul,sub,neg 5
row "elementwise and reduce" matrix:add,mul,reduce_sum 5
row "order" order:add,max,min,neg 5
row "linear algebra" product:matmul,add,mul 5
row "linear and layout" batch:matmul,transpose,reshape,add 5
row "convolution and layout" image:conv,concat,slice 5
row "kernels" kernel:conv 5
