#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A small rule database for the tests that want one, generated and verified on the spot:
# level 1 of everything, and level 2 of small sets that real models gain from.
#   make_rules.sh BIN_FOLDER DATABASE
set -euo pipefail
bin=$1 rules=$2
rm -f "$rules"
"$bin/noether-generate" --db "$rules" --level 1
for ops in relu,concat conv,add conv,mul,reshape slice,concat add,mul,matmul,transpose \
    cast,transpose,concat; do
  "$bin/noether-generate" --db "$rules" --level 2 --ops $ops
done
"$bin/noether-verify" --db "$rules"
