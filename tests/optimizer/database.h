/* SPDX-License-Identifier: Apache-2.0
 *
 * A rule database from texts, as if noether-verify had proved them: for testing what
 * the optimizer does with rules, right and wrong ones.
 */
#ifndef NOE_TESTS_OPTIMIZER_DATABASE_H
#define NOE_TESTS_OPTIMIZER_DATABASE_H

/* texts is NULL-terminated. */
void fixture_database(const char *path, const char *const *texts);

#endif
