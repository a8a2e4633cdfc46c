/* SPDX-License-Identifier: Apache-2.0
 *
 * A build without oneDNN (NOETHER_ONEDNN=OFF) says so, and the reference still
 * computes.
 */
#include "runtime/runtime.h"
#include "tests/support/support.h"

START_TEST(test_no_onednn_says_so)
{
    noe_error err;
    noe_backend *b;
    noe_assert_fails(noe_backend_open("onednn", NULL, &b, &err), NOE_ERR_BACKEND, err,
                     "-DNOETHER_ONEDNN=ON");
    ck_assert_ptr_null(b);
    ck_assert_str_eq(noe_runtime_library(), "no oneDNN");
    noe_assert_ok(noe_backend_open("reference", NULL, &b, &err), err);
    b->vt->close(b);
}
END_TEST

Suite *suite_no_onednn(void);
Suite *suite_no_onednn(void)
{
    Suite *s = suite_create("no_onednn");
    TCase *t = tcase_create("no_onednn");
    tcase_add_test(t, test_no_onednn_says_so);
    suite_add_tcase(s, t);
    return s;
}
