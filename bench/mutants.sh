#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# One-edit mutants of the rules in use against the verifier:
#   bench/mutants.sh BUILD_DIR DB [N] > bench/results/mutants.md
# N defaults to 10000; seed 1. Exit code 1 if a false mutant was proved.
set -eu
build=$1 db=$2 n=${3:-10000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$build/bin/noether-rules" "$db" export "$work/rules.txt"
cat <<END
# Mutants

Made by \`bench/mutants.sh BUILD_DIR DB $n\`: $n seeded one-edit mutants of the
$(wc -l <"$work/rules.txt") rules of a database, judged by the verifier with its default limits
and, apart from it, by brute force: \`tests/verifier/brute.c\` has every operator once more,
element by element in doubles, and evaluates both sides at small shapes that it draws itself,
at some that \`core/instance.c\` finds, and at the one where the verifier sees a difference.
Only typing is shared. "No instance" means that
brute force found no shapes at which the mutant is typed, so it knows nothing of it. A
mutant is *true* for brute force if no instance showed a difference; that it is true is not
proved by that.

END
"$build/bin/noe_bench_mutants" "$work/rules.txt" "$n" 1
