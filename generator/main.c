/* SPDX-License-Identifier: Apache-2.0
 *
 * noether-generate: enumerates small operator graphs, finds which are equal, and stores
 * what the rest does not follow from as candidates for noether-verify.
 */
#include "generator/generate.h"

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/options.h"
#include "core/base/pool.h"
#include "generator/ranks.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *db_path;
static const char *ops = "default";
static int64_t level = 3;
static int64_t seed = 1;
static int64_t samples;
static int64_t threads;
static const char *max_memory;
static const char *checkpoints;
static int only_enumerate;
static int list_ops;
static int show_stats;
static int dry_run;

static const noe_option options[] = {
    {"db", 0, NOE_OPTION_TEXT, &db_path, 0, 0, "<file>",
     "rule database; made if it does not exist", 1},
    {"ops", 0, NOE_OPTION_TEXT, &ops, 0, 0, "<set>",
     "what to enumerate: default, taso, one space (matrix, layout, product, "
     "image, order, batch, kernel, group, shift, mask, choice, index, upscale, "
     "precision, stride, head), operators separated by commas, or spaces and operators "
     "(matrix,batch:add,relu)",
     1},
    {"level", 'n', NOE_OPTION_INT, &level, 1, NOE_MAX_LEVEL, "<n>",
     "operators of the larger side", 1},
    {"dry-run", 0, NOE_OPTION_FLAG, &dry_run, 0, 0, NULL,
     "print the candidates instead of storing them", 1},
    {"seed", 0, NOE_OPTION_INT, &seed, 0, 9007199254740992.0, "<n>",
     "of the sampled points", 0},
    {"samples", 0, NOE_OPTION_INT, &samples, 0, NOE_MAX_SAMPLES, "<n>",
     "sampled points; 0: what each space asks for", 0},
    {"threads", 0, NOE_OPTION_INT, &threads, 0, NOE_MAX_THREADS, "<n>",
     "that work at once, 0: one a processor; the result does not depend on it", 1},
    {"max-memory", 0, NOE_OPTION_TEXT, &max_memory, 0, 0, "<bytes>",
     "of enumeration, as 800M or 4G; what is beyond is kept in files beside the "
     "database (default no limit)",
     0},
    {"checkpoint", 0, NOE_OPTION_TEXT, &checkpoints, 0, 0, "<folder>",
     "keep finished levels there; a run that was killed goes on with them. Empty again "
     "when the run is done",
     0},
    {"enumerate", 0, NOE_OPTION_FLAG, &only_enumerate, 0, 0, NULL,
     "stop after enumeration; with --stats, for measuring", 0},
    {"stats", 0, NOE_OPTION_FLAG, &show_stats, 0, 0, NULL,
     "print counters, a line each: name value unit", 0},
    {"list-ops", 0, NOE_OPTION_FLAG, &list_ops, 0, 0, NULL,
     "print the operator table and exit", 0},
};

static const char *(*const libraries[])(void) = {noe_ruledb_library, noe_hash_library,
                                                 NULL};

static const noe_program program = {
    .name = "noether-generate",
    .operands = "",
    .summary = "Enumerates operator graphs and stores equal ones as candidate rules.",
    .epilogue =
        "Examples:\n"
        "  noether-generate --db rules.db\n"
        "  noether-generate --dry-run --ops add,mul,matmul --level 2\n"
        "\n"
        "Exit codes: 0 done, 2 wrong usage, 3 limit exceeded, 4 database error,\n"
        "5 internal error, 130 interrupted (the database is as it was).\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .libraries = libraries,
};

static void print_traits(unsigned traits)
{
    static const char *const names[] = {
#define XX(ID) #ID,
        NOE_TRAIT_MAP(XX)
#undef XX
    };
    const char *separator = "";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!(traits >> i & 1))
            continue;
        printf("%s", separator);
        for (const char *c = names[i]; *c; c++)
            putchar(*c - 'A' + 'a');
        separator = " ";
    }
}

/* Operator, operands, parameters, traits, ONNX name; "-" for nothing. */
static void print_ops(void)
{
    for (int op = 0; op < NOE_OP_COUNT; op++) {
        const noe_op_info *info = noe_op_get((noe_op)op);
        printf("%-20s %d", info->name, info->min_in);
        if (info->max_in != info->min_in)
            printf("-%d", info->max_in);
        printf("  %s  ", info->onnx ? info->onnx : "-");
        for (int k = 0; k < info->n_params; k++)
            printf("%s%s", k ? "," : "[", noe_param_name(info->params[k]));
        printf("%s", info->n_params ? "]  " : "[]  ");
        print_traits(info->traits);
        putchar('\n');
    }
}

static void print_candidates(const noe_generated *g)
{
    static const char *const kinds[] = {"axiom", "derived", "sibling"};
    for (int i = 0; i < g->n_groups; i++) {
        const noe_group *group = &g->groups[i];
        const char *use = noe_pair_use_text(group->use);
        printf("# %d %s %s%s%s%s level %d: %s  %s\n", i, g->space[group->space].name,
               kinds[group->kind], *use ? ", " : "", use,
               group->is_deferred ? " deferred" : "", group->level, group->source,
               group->shapes);
        for (int k = 0; k < group->variants.n; k++)
            printf("%s\n", group->variants.text[k]);
    }
}

/* "800M": a number and perhaps K, M or G, powers of 1024. */
static noe_status parse_bytes(const char *text, uint64_t *bytes, noe_error *err)
{
    static const char units[] = "KMG";
    char *end;
    *bytes = 0;
    if (!text)
        return NOE_OK;
    unsigned long long n = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (*text < '0' || *text > '9' || n == 0 || n > UINT64_MAX >> 40 ||
        (*end && (!unit || end[1])))
        return noe_fail(err, NOE_ERR_ARG,
                        "--max-memory is '%s', want a number of bytes with K, M, G or "
                        "nothing behind it",
                        text);
    *bytes = (uint64_t)n << shift;
    return NOE_OK;
}

/* The folder of the database, malloc'ed; NULL without one. */
static char *folder_of_database(void)
{
    const char *slash = db_path ? strrchr(db_path, '/') : NULL;
    if (!slash)
        return NULL;
    char *folder = noe_strdup(db_path);
    folder[slash - db_path + (slash == db_path)] = '\0';
    return folder;
}

/* Where the candidates go. A database that is new is made beside its place and gets its
 * name when it is complete; one that exists gets all of a run in one transaction. So
 * whenever the program ends, there is a whole run, what was there before, or no file.
 */
typedef struct destination {
    noe_ruledb *db; /* one that exists */
    char *unnamed;  /* path of a new one */
} destination;

static bool exists(const char *path)
{
    struct stat st;
    return strcmp(path, ":memory:") == 0 || (stat(path, &st) == 0 && st.st_size > 0);
}

/* Asked first: minutes of work are not lost to a path that cannot be written. */
static noe_status open_destination(destination *d, noe_error *err)
{
    noe_buf name = {0};
    if (exists(db_path))
        return noe_ruledb_open(db_path, NOE_RULEDB_CREATE, &d->db, err);
    NOE_TRY(noe_file_check_writable(db_path, err));
    noe_buf_printf(&name, "%s.unfinished", db_path);
    d->unnamed = noe_strdup(name.text);
    noe_buf_clear(&name);
    return NOE_OK;
}

/* What an earlier run that was killed may have left, too. */
static void remove_unnamed(const char *path)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        noe_buf name = {0};
        noe_buf_printf(&name, "%s%s", path, suffixes[i]);
        (void)unlink(name.text);
        noe_buf_clear(&name);
    }
}

static noe_status store(const noe_generated *g, const noe_generate_options *o,
                        const noe_env *env, destination *d, noe_error *err)
{
    int n_new = 0;
    if (d->unnamed) {
        remove_unnamed(d->unnamed);
        NOE_TRY(noe_ruledb_open(d->unnamed, NOE_RULEDB_CREATE, &d->db, err));
    }
    noe_status status = noe_generated_store(g, o, env, d->db, &n_new, err);
    noe_ruledb_close(d->db);
    d->db = NULL;
    if (status == NOE_OK && d->unnamed && rename(d->unnamed, db_path) != 0)
        status = noe_fail(err, NOE_ERR_IO, "%s: cannot be named %s: %s", d->unnamed,
                          db_path, strerror(errno));
    if (status == NOE_OK)
        printf("%d candidates in %d groups, %d new, in %s (seed %lld)\n", n_new,
               g->n_groups, n_new, db_path, (long long)env->seed);
    return status;
}

/* Closes it; after a failure, says what is there now. */
static noe_status close_destination(destination *d, noe_status status, noe_error *err)
{
    noe_ruledb_close(d->db);
    if (status != NOE_OK && d->unnamed)
        remove_unnamed(d->unnamed);
    if (status == NOE_ERR_CANCELLED && db_path)
        status = noe_fail(err, status, "%s; %s %s", err->text, db_path,
                          d->unnamed ? "was not made" : "is as it was");
    free(d->unnamed);
    return status;
}

static noe_status make_checkpoint_folder(noe_error *err)
{
    if (checkpoints && mkdir(checkpoints, 0777) != 0 && errno != EEXIST)
        return noe_fail(err, NOE_ERR_IO, "%s: cannot make the folder: %s", checkpoints,
                        strerror(errno));
    return NOE_OK;
}

static noe_status run(const noe_env *env, noe_error *err)
{
    if (!dry_run && !db_path && !show_stats && !only_enumerate)
        return noe_fail(err, NOE_ERR_ARG, "--db <file> or --dry-run is needed");
    noe_generate_options o = {.ops = ops,
                              .n_levels = (int)level,
                              .n_samples = (int)samples,
                              .only_enumerate = only_enumerate,
                              .checkpoints = checkpoints};
    NOE_TRY(make_checkpoint_folder(err));
    NOE_TRY(parse_bytes(max_memory, &o.max_bytes, err));
    noe_generated g = {0};
    destination d = {0};
    bool is_first = noe_rank() == 0;
    if (db_path && !dry_run && !only_enumerate && is_first)
        NOE_TRY(open_destination(&d, err));
    char *folder = folder_of_database();
    o.folder = folder;
    noe_status status = noe_generate(&o, env, &g, err);
    free(folder);
    noe_env_end_progress(env);
    if (status == NOE_OK && dry_run && is_first)
        print_candidates(&g);
    else if (status == NOE_OK && (d.db || d.unnamed))
        status = store(&g, &o, env, &d, err);
    status = close_destination(&d, status, err);
    if (status != NOE_OK) {
        noe_generated_clear(&g);
        return status;
    }
    if (show_stats && is_first) {
        noe_buf b = {0};
        noe_generated_print_stats(&b, &g);
        printf("%s", noe_buf_text(&b));
        noe_buf_clear(&b);
    }
    for (int i = 0; i < g.n_spaces && checkpoints && is_first; i++)
        noe_checkpoint_remove(g.space[i].name, checkpoints);
    noe_generated_clear(&g);
    return status;
}

int main(int argc, char **argv)
{
    int n_operands = 0;
    const char *operands[1];
    noe_ranks_start(&argc, &argv);
    noe_options_parse(&program, argc, argv, operands, &n_operands);
    if (list_ops) {
        print_ops();
        noe_ranks_end(0);
        return 0;
    }
    noe_env env;
    noe_error err = {0};
    noe_env_init_cli(&env, program.name, NOE_LOG_INFO);
    env.seed = (uint64_t)seed;
    /* Under mpirun it is the number of processes that says how much may work at once.
     */
    int n_threads = noe_ranks_count() > 1 ? 1 : noe_processors();
    env.n_threads = threads ? (int)threads : n_threads;
    if (noe_rank() != 0)
        env.progress = NULL;
    noe_status status = run(&env, &err);
    noe_env_end_progress(&env);
    int exit_code = noe_status_exit_code(status);
    if (status != NOE_OK && noe_rank() == 0)
        exit_code = noe_report(&program, &err);
    noe_ranks_end(exit_code);
    return exit_code;
}
