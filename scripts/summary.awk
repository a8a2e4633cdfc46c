# SPDX-License-Identifier: Apache-2.0
#
# Adds up single tests over all suites. Arguments: what ctest printed (the verdict of each
# entry), ctest's full log (what each entry printed), what scripts/lint.sh printed.
#
# In what an entry printed, "NN%: Checks: C, Failures: F, Errors: E" is Check's own count;
# a "SKIP ..." line takes one of those that "passed" to the skipped. A Check
# suite without tests has failed. Entries that are no Check suites count by lines
# "PASS ...", "FAIL ...", "SKIP ...". An entry without any such line counts as one. An
# entry that ctest calls failed (a crash, a leak at the end, a time-out, a missing
# program) has at least one failure, whatever it printed.
# ctest_status and lint_status are exit codes: no failure may get lost in the counting.

FNR == 1 { n_files++ }

n_files == 1 && /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
    name = $0
    sub(/^[^#]*#[0-9]+: /, "", name)
    sub(/ .*/, "", name)
    verdict[name] = /\*\*\*Skipped/ ? "skipped" : / Passed / ? "passed" : "failed"
}

n_files == 2 && /^[0-9]+\/[0-9]+ Test: / {
    entry = $0
    sub(/^[0-9]+\/[0-9]+ Test: /, "", entry)
    p = f = s = checks = lines = 0
}
n_files == 2 && /^[0-9]+%: Checks: [0-9]+, Failures: [0-9]+, Errors: [0-9]+$/ {
    checks = 1
    lines++
    gsub(/[^0-9 ]/, "")
    p += $2 - $3 - $4
    f += $3 + $4
    if ($2 == 0)
        f++
}
n_files == 2 && /^PASS / { p++; lines++ }
n_files == 2 && /^FAIL / { f++; lines++ }
n_files == 2 && /^SKIP / { s++; lines++ }
n_files == 2 && /<end of output>$/ {
    if (checks)
        p = p > s ? p - s : 0
    if (verdict[entry] == "failed" && f == 0)
        f = 1
    else if (!lines && verdict[entry] == "passed")
        p = 1
    else if (!lines && verdict[entry] == "skipped")
        s = 1
    passed += p
    failed += f
    skipped += s
    seen[entry] = 1
}

n_files == 3 && /^PASS / { passed++ }
n_files == 3 && /^FAIL / { failed++; lint_failed++ }
n_files == 3 && /^SKIP / { skipped++ }

END {
    for (name in verdict) {
        if (!(name in seen)) {
            if (verdict[name] == "skipped")
                skipped++
            else
                failed++ # never started, so it left no output
        }
    }
    if (lint_status != 0 && !lint_failed)
        failed++
    if (ctest_status != 0 && !failed)
        failed++
    if (n_files != 3 || passed + failed == 0) {
        print "error: no tests ran"
        failed += passed + failed == 0
    }
    printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
    exit failed != 0 || ctest_status != 0 || lint_status != 0
}
