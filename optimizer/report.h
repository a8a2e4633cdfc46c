/* SPDX-License-Identifier: Apache-2.0
 *
 * What the user sees at the end.
 */
#ifndef NOE_OPTIMIZER_REPORT_H
#define NOE_OPTIMIZER_REPORT_H

#include "onnx_io/onnx_io.h"
#include "optimizer/optimize.h"

/* One file as the table counts it. */
typedef struct noe_file_facts {
    noe_onnx_count counts[256];
    int n_counts;
    uint64_t bytes;
} noe_file_facts;

void noe_report_table(noe_buf *b, const noe_file_facts *before,
                      const noe_file_facts *after, const noe_optimize_result *r);
void noe_report_rules(noe_buf *b, const noe_rule_set *rules,
                      const noe_optimize_result *r);
/* Every step: rule, place, what it changed. */
void noe_report_steps(noe_buf *b, const noe_rule_set *rules,
                      const noe_optimize_result *r);
/* The whole report as one JSON object. */
void noe_report_json(noe_buf *b, const char *input, const char *device, double seconds,
                     const noe_file_facts *before, const noe_file_facts *after,
                     const noe_rule_set *rules, const noe_optimize_result *r);
void noe_report_outcome(noe_buf *b, const noe_optimize_options *options,
                        const noe_optimize_result *r);
/* Nodes that stayed outside the algebra, by operator and reason. */
void noe_report_opaque(noe_buf *b, const noe_onnx_model *m);

#endif
