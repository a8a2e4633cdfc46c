-- SPDX-License-Identifier: Apache-2.0
--
-- Schema version 6: in which directions a rule may be used, which is to say in which what
-- it makes exists wherever what it matches does. '' for rules that were proved before
-- version 6, where noether-optimize looks for itself at each start.
ALTER TABLE rule ADD COLUMN directions TEXT NOT NULL DEFAULT ''
    CONSTRAINT "rule.directions is known"
    CHECK (directions IN ('', 'none', 'left to right', 'right to left', 'both'));
