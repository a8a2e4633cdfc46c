/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of enumeration, for each other. A level is: plan.c finds which moves apply
 * to which shapes; visit.c goes through the pairs of operands, on all threads, and
 * writes a record an e-node; partition.c sorts the records by fingerprint and groups
 * them; merge.c makes values and e-nodes of the groups; support.c finds the supports of
 * the values. enumerate.c runs the levels.
 */
#ifndef NOE_GENERATOR_ENGINE_H
#define NOE_GENERATOR_ENGINE_H

#include "core/base/pool.h"
#include "generator/fingerprint.h"

/* An e-node under way: 9 bits move, 24 each operand, 6 of use to nobody yet, and
 * whether its variables are in order; of moves with three operands 18 bits each. Nodes
 * compare as (move, a, b, c). */
typedef struct noe_record {
    uint64_t key, node;
} noe_record;

#define NOE_NODE_NONE ((1u << 24) - 1) /* no second operand */

static inline uint64_t noe_node_pack(uint32_t move, uint32_t a, uint32_t b,
                                     bool is_canonical)
{
    return (uint64_t)move << 55 | (uint64_t)a << 31 |
           (uint64_t)(b & NOE_NODE_NONE) << 7 | is_canonical;
}
static inline uint64_t noe_node_pack_three(uint32_t move, const uint32_t *in,
                                           bool is_canonical)
{
    return (uint64_t)move << 55 | (uint64_t)in[0] << 37 | (uint64_t)in[1] << 19 |
           (uint64_t)in[2] << 1 | is_canonical;
}
static inline uint16_t noe_node_move(uint64_t node)
{
    return (uint16_t)(node >> 55);
}
/* As in noe_enode. */
static inline void noe_node_operands(uint64_t node, int n_in,
                                     uint32_t in[NOE_SPACE_MAX_IN])
{
    if (n_in > 2) {
        in[0] = node >> 37 & (NOE_MAX_VALUES_THREE - 1);
        in[1] = node >> 19 & (NOE_MAX_VALUES_THREE - 1);
        in[2] = node >> 1 & (NOE_MAX_VALUES_THREE - 1);
        return;
    }
    in[0] = node >> 31 & NOE_NODE_NONE;
    in[1] = node >> 7 & NOE_NODE_NONE;
    in[1] = in[1] == NOE_NODE_NONE ? NOE_NO_OPERAND : in[1];
    in[2] = 0;
}
static inline bool noe_node_is_canonical(uint64_t node)
{
    return node & 1;
}

/* partition.c: records by the top bits of their keys. One thread pushes into its own
 * part; beyond max_bytes (0: no limit) its records go to an unnamed file in `folder`.
 */
#define NOE_PARTITIONS 256
typedef struct noe_partitions noe_partitions;
noe_partitions *noe_partitions_new(int n_threads, uint64_t max_bytes,
                                   const char *folder);
void noe_partitions_free(noe_partitions *p);
void noe_partitions_push(noe_partitions *p, int thread, noe_record r);
/* First failure to write or read a file. */
noe_status noe_partitions_status(const noe_partitions *p, noe_error *err);
uint64_t noe_partitions_spilled(const noe_partitions *p);
/* The records of one partition, in any order; the caller frees them. Their place in p
 * is empty then. Different partitions may be taken at the same time. */
noe_record *noe_partitions_take(noe_partitions *p, int partition, size_t *n);
/* The records of a partition by (key, node); takes r and gives what is to be freed. */
noe_record *noe_records_sort(noe_record *r, size_t n);

/* plan.c */
typedef struct noe_range {
    uint32_t first, n; /* in applications */
} noe_range;

/* Operands of another role that moves may join with. */
typedef struct noe_partner {
    uint32_t role;
    noe_range xy, yx; /* applied to (x, y) and to (y, x), y of that role */
} noe_partner;

typedef struct noe_id_list {
    uint32_t *id;
    uint32_t n, cap;
} noe_id_list;

/* Operands of other roles that moves with three operands may join with, in second and
 * third place: (c, x, y) and (c, y, x). */
typedef struct noe_company {
    uint32_t c, y; /* roles */
    noe_range xy, yx;
} noe_company;

/* What may be applied to what at one level. Role: shape and noe_role. */
typedef struct noe_plan {
    noe_application *applications;
    uint32_t n_applications, cap_applications;
    uint32_t n_roles;
    noe_id_list *by_role; /* [level * n_roles + role]: open values */
    noe_range *unary;     /* by role */
    struct noe_partner_list {
        noe_partner *p;
        uint32_t n, cap;
    } * partners;         /* by role of x; y may be of the level that x leaves over */
    uint32_t *pair_index; /* [x role * n_roles + y role]: range of (x, y), plus 1 */
    noe_range *ranges;
    uint32_t n_ranges, cap_ranges;
    struct noe_company_list {
        noe_company *p;
        uint32_t n, cap;
    } * companies;                 /* by role of x */
    uint32_t *users_first, *users; /* instance -> supports that have it */
    noe_arena arena;               /* parameters of slices */
} noe_plan;

static inline uint32_t noe_role_of(const noe_universe *u, const noe_gen_value *v)
{
    return v->shape * u->space->n_roles + v->role;
}
NOE_NODISCARD noe_status noe_plan_make(noe_universe *u, int level, int n_threads,
                                       noe_plan **out, noe_error *err);
void noe_plan_free(noe_plan *p);
/* Moves on (x, y), for roles that may meet at this level. */
noe_range noe_plan_pair(const noe_plan *p, uint32_t x_role, uint32_t y_role);
noe_range noe_plan_three(const noe_plan *p, uint32_t c_role, uint32_t x_role,
                         uint32_t y_role);
/* The application of e-node e, which is of this level. */
const noe_application *noe_plan_find(const noe_universe *u, const noe_plan *p,
                                     const noe_enode *e);
/* Dense number of an instance: values, then cuts. */
static inline uint32_t noe_instance_index(const noe_universe *u, uint32_t instance)
{
    return instance & NOE_CUT_INSTANCE ? u->n_values + (instance & ~NOE_CUT_INSTANCE)
                                       : instance;
}

/* support.c */
int noe_support_size(const noe_support *s);
/* Support number i of a value; that of a leaf is empty. */
const noe_support *noe_support_at(const noe_universe *u, uint32_t value, uint32_t i);
/* Union; its size, or NOE_MAX_LEVEL if it is larger than NOE_MAX_SUPPORT. */
int noe_support_unite(const noe_support *a, const noe_support *b, noe_support *out);
/* Least union over the supports of x and y (y NOE_NO_OPERAND: of x alone), and the
 * first pair that has it, as numbers within the supports of each. */
int noe_support_least(const noe_universe *u, uint32_t x, uint32_t y, uint32_t *i,
                      uint32_t *j, noe_support *out);
/* The same over the supports of n values. */
int noe_support_least_of(const noe_universe *u, const uint32_t *values, int n,
                         noe_support *out);
/* Supports of `level` operators, for all values up to there; before that, the cuts of
 * the level get their numbers. */
void noe_supports_extend(noe_universe *u, int level, int n_threads);

/* visit.c: all e-nodes of a level. */
typedef struct noe_visit {
    const noe_universe *u;
    const noe_plan *plan;
    int level, n_threads;
    noe_partitions *out;
} noe_visit;
/* Returns the number of records. */
uint64_t noe_visit_level(const noe_visit *v);

/* The variables of a, then those of b that are new. */
uint64_t noe_occurs_join(uint64_t a, uint64_t b);

/* merge.c: sorts, groups and enters the records of a level. */
NOE_NODISCARD noe_status noe_merge_level(noe_universe *u, const noe_plan *p, int level,
                                         int n_threads, bool keep_all,
                                         noe_partitions *records, noe_error *err);
uint64_t noe_memo_hash(uint32_t move, uint32_t a, uint32_t b, uint32_t c);

void noe_memo_rebuild(noe_universe *u);

/* checkpoint.c: a finished level in a file of the folder. Reading takes what is there,
 * level 0 being nothing; a damaged file is left aside with a warning, one of another
 * run is an error. */
NOE_NODISCARD noe_status noe_checkpoint_write(noe_universe *u, const char *folder,
                                              bool keep_all, int level, noe_error *err);
NOE_NODISCARD noe_status noe_checkpoint_read(noe_universe *u, const char *folder,
                                             bool keep_all, int *level, noe_error *err);

/* cuts.c: where the result of an e-node may be cut, from where its operands may. */
void noe_cuts_derive(const noe_universe *u, const noe_enode *e, int out_shape,
                     uint32_t *cuts);

#endif
