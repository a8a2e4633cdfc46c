/* SPDX-License-Identifier: Apache-2.0
 *
 * What device "ort" and its worker say to each other, over a stream socket. A request
 * is a header and a body, the answer too; there is one at a time. The worker is forked
 * from us, so both are the same program and structs can travel as they are.
 */
#ifndef NOE_RUNTIME_ORT_WORKER_H
#define NOE_RUNTIME_ORT_WORKER_H

#include "runtime/ort_session.h"

typedef enum noe_ort_verb {
    NOE_ORT_HELLO,   /* => text: the version */
    NOE_ORT_PREPARE, /* body: extra, then the model => id, bytes of inputs, outputs */
    NOE_ORT_RUN,     /* body: inputs => outputs */
    NOE_ORT_TIME,    /* => measure */
    NOE_ORT_PAIR,    /* ids a and b => pair */
    NOE_ORT_COMPARE, /* ids a and b => difference */
    NOE_ORT_RELEASE,
} noe_ort_verb;

typedef struct noe_ort_request {
    noe_ort_verb verb;
    uint32_t a, b; /* executors */
    noe_executor_options options;
    int max_rounds;
    uint64_t n_extra; /* bytes of the body that come before the model */
    uint64_t n_body;
} noe_ort_request;

typedef struct noe_ort_answer {
    noe_status status; /* not OK: the body is the message */
    uint32_t id;
    uint64_t in_bytes, out_bytes;
    noe_measure measure;
    noe_pair_measure pair;
    double difference;
    uint64_t n_body;
} noe_ort_answer;

/* Answers requests until the other side closes the socket. */
void noe_ort_work(int fd, const char *path, noe_encode_fn *encode, const noe_env *env);

#endif
