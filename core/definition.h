/* SPDX-License-Identifier: Apache-2.0
 *
 * Definitions of composite operators, and the ONNX normal forms they are folded back
 * to: core/definitions.txt, in rule text. Section "expand" has one or more rules a
 * composite operator, composite on the left. Section "fold" has rules that build
 * composites from forms that rewrites make; section "restore" those that only bring
 * back what a node was. All are checked by the field like every rule (tests,
 * noether-verify --self-check).
 */
#ifndef NOE_CORE_DEFINITION_H
#define NOE_CORE_DEFINITION_H

#include "core/rule.h"

/* The parsed file, cached; never fails on the embedded text (a test parses it). */
const noe_rule_line *noe_definitions_expand(int *n);
const noe_rule_line *noe_definitions_fold(int *n);
/* A parameter variable of these may be bound nowhere on the left: it stands for any
 * axis or set of axes for which the left matches. */
const noe_rule_line *noe_definitions_restore(int *n);
extern const char noe_definitions_text[];

/* A new graph without composite operators. The root of an expansion takes the origin
 * and the name of the composite node; interior nodes have neither. A composite that no
 * rule expands is kept. */
NOE_NODISCARD noe_status noe_graph_expand(const noe_graph *g, noe_graph **out,
                                          noe_error *err);

/* The reverse: folds normal forms where every interior node has no other use (weights
 * may) and either the root stems from that composite (origin_op(ctx, origin) tells
 * which operator an ONNX node was) or, for section "fold", something in it is new
 * (origin 0). Nodes that were separate in the model stay separate. The composite takes
 * the name of the root, and its origin where it stems from that composite. */
typedef noe_op noe_origin_op_fn(void *ctx, uint32_t origin);
NOE_NODISCARD noe_status noe_graph_fold(const noe_graph *g, noe_origin_op_fn *origin_op,
                                        void *ctx, noe_graph **out, noe_error *err);

#endif
