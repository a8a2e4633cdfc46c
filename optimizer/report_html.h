/* SPDX-License-Identifier: Apache-2.0
 *
 * The report as one HTML page that needs nothing else: summary, before and after, where
 * the time goes, each rule that was used, both graphs, the check, the environment.
 */
#ifndef NOE_OPTIMIZER_REPORT_HTML_H
#define NOE_OPTIMIZER_REPORT_HTML_H

#include "optimizer/job.h"

/* j has run. */
NOE_NODISCARD noe_status noe_report_html(noe_job *j, noe_buf *html, noe_error *err);

#endif
