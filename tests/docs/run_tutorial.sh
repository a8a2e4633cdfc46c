#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# ctest's way to run_tutorial.py.
#   run_tutorial.sh TUTORIAL BIN-FOLDER
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${NOE_PYTHON:-python3}
command -v "$python" >/dev/null || {
  echo "SKIP docs: skipped: no Python (NOE_PYTHON)"
  exit 77
}
exec "$python" "$here/run_tutorial.py" "$@"
