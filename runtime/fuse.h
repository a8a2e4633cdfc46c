/* SPDX-License-Identifier: Apache-2.0
 *
 * What the members of a fused group are to each other; for the executor.
 */
#ifndef NOE_RUNTIME_FUSE_H
#define NOE_RUNTIME_FUSE_H

#include "runtime/runtime.h"

/* In the order in which a call applies them. */
typedef enum noe_fusion_role {
    NOE_FUSION_ANCHOR,
    NOE_FUSION_BIAS,
    NOE_FUSION_RESIDUAL,
    NOE_FUSION_ACTIVATION,
} noe_fusion_role;

#define NOE_FUSION_MAX_STEPS    3
#define NOE_FUSION_MAX_OPERANDS 64

typedef struct noe_fusion_step {
    noe_fusion_role role;
    uint32_t node;
    noe_ref other; /* bias or residual */
} noe_fusion_step;

typedef struct noe_fusion {
    uint32_t anchor, last;
    int n_steps;
    noe_fusion_step steps[NOE_FUSION_MAX_STEPS];
    /* The anchor's operands; for a chain of concatenations those of all members. */
    int n_operands;
    noe_ref operands[NOE_FUSION_MAX_OPERANDS];
} noe_fusion;

/* Describes the group that ends in node last; group is noe_fuse's. */
void noe_fusion_describe(const noe_graph *g, const uint32_t *group, uint32_t last,
                         noe_fusion *f);
/* The group of node i alone. */
void noe_fusion_single(const noe_graph *g, uint32_t i, noe_fusion *f);

#endif
