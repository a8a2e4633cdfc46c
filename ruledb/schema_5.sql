-- SPDX-License-Identifier: Apache-2.0
--
-- Schema version 5: what rules are worth where elements are integers. 'wrap': both sides
-- are equal in integers of any width that wrap around; 'bounded': where nothing overflows;
-- 'none': nothing is said. '' for rules that were proved before version 5 until
-- noether-verify has judged them again.
ALTER TABLE rule ADD COLUMN integers TEXT NOT NULL DEFAULT ''
    CONSTRAINT "rule.integers is known"
    CHECK (integers IN ('', 'none', 'bounded', 'wrap'));
