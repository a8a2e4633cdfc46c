/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver, the CUDA runtime and NVRTC.
 */
#include "tests/runtime/fake_cuda/fake.h"
#include "runtime/cuda/kernel_args.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

static fake_control control = {.n_devices = 1,
                               .driver = 13000,
                               .runtime = 13000,
                               .sm = 90,
                               .dnn_version = 92800,
                               .memory = (size_t)64 << 20,
                               .ms_launch = 0.002,
                               .ms_conv = {0.05, 0.02, 0.03},
                               .ms_nhwc_factor = 0.5,
                               .ms_product = {0.04, 0.03, 0.01}};

/* For programs: FAKE_CUDA="devices=0 driver=0 sm=75 cudnn=8900". */
__attribute__((constructor)) static void read_environment(void)
{
    const char *text = getenv("FAKE_CUDA");
    while (text && *text) {
        int value = 0;
        char name[32];
        if (sscanf(text, "%31[a-z]=%d", name, &value) == 2) {
            if (strcmp(name, "devices") == 0)
                control.n_devices = value;
            else if (strcmp(name, "driver") == 0)
                control.driver = value;
            else if (strcmp(name, "sm") == 0)
                control.sm = value;
            else if (strcmp(name, "cudnn") == 0)
                control.dnn_version = (size_t)value;
        }
        text += strcspn(text, " ");
        text += *text == ' ';
    }
}

fake_control *fake_cuda_control(void)
{
    return &control;
}

int fake_fails(const char *name)
{
    if (control.is_dead)
        return cudaErrorIllegalAddress;
    bool is_meant =
        strcmp(name, control.fail_call) == 0 || strcmp(control.fail_call, "*") == 0;
    if (!is_meant || --control.fail_after != 0)
        return 0;
    control.fail_call[0] = '\0';
    /* A fault of the device is felt by all calls from then on. */
    if (control.fail_status >= cudaErrorIllegalAddress &&
        control.fail_status <= cudaErrorLaunchFailure)
        control.is_dead = true;
    return control.fail_status;
}

#define FAIL_IF_TOLD()                      \
    do {                                    \
        int status_ = fake_fails(__func__); \
        if (status_ != 0)                   \
            return status_;                 \
    } while (0)

/* ---- streams, graphs, events ---- */

struct CUgraph_st {
    double ms;
};
struct CUgraphExec_st {
    struct CUgraphExec_st *next;
    double ms;
};
struct CUevent_st {
    double at;
};

static double now; /* of the one stream */
static struct CUgraph_st *capturing;
static struct CUgraphExec_st *execs; /* all, so that a reset can free them */
static char stream_object;

bool fake_is_capturing(void)
{
    return capturing != NULL;
}

void fake_operation(double ms, int *counter)
{
    ++*counter;
    if (capturing)
        capturing->ms += ms;
    else
        now += ms;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    FAIL_IF_TOLD();
    (void)flags;
    *stream = (cudaStream_t)&stream_object;
    control.n_handles++;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    (void)stream;
    control.n_handles--;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    (void)stream;
    FAIL_IF_TOLD();
    return capturing ? cudaErrorUnknown : cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode)
{
    FAIL_IF_TOLD();
    if (!stream || mode != cudaStreamCaptureModeThreadLocal || capturing)
        return 1;
    capturing = calloc(1, sizeof *capturing);
    control.n_captures++;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    (void)stream;
    *graph = capturing;
    capturing = NULL;
    int status = fake_fails(__func__);
    if (status != 0) {
        free(*graph);
        *graph = NULL;
    }
    return status;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph,
                                          unsigned long long flags)
{
    (void)flags;
    FAIL_IF_TOLD();
    *exec = calloc(1, sizeof **exec);
    **exec = (struct CUgraphExec_st){execs, graph->ms};
    execs = *exec;
    control.n_execs++;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    (void)stream;
    FAIL_IF_TOLD();
    fake_operation(exec->ms, &control.n_replays);
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    for (cudaGraphExec_t *at = &execs; *at; at = &(*at)->next) {
        if (*at != exec)
            continue;
        *at = exec->next;
        free(exec);
        control.n_execs--;
        return cudaSuccess;
    }
    return 1;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    free(graph);
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    FAIL_IF_TOLD();
    *event = calloc(1, sizeof **event);
    control.n_handles++;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    free(event);
    control.n_handles--;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    (void)stream;
    FAIL_IF_TOLD();
    event->at = now;
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    (void)event;
    FAIL_IF_TOLD();
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start,
                                 cudaEvent_t end)
{
    FAIL_IF_TOLD();
    *milliseconds = (float)(end->at - start->at);
    return cudaSuccess;
}

/* ---- devices and memory ---- */

static cudaError_t last_error;

cudaError_t cudaGetDeviceCount(int *n)
{
    FAIL_IF_TOLD();
    *n = 0;
    if (control.driver < control.runtime)
        return cudaErrorInsufficientDriver;
    *n = control.n_devices;
    return control.n_devices > 0 ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = control.driver;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = control.runtime;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    FAIL_IF_TOLD();
    return device < control.n_devices ? cudaSuccess : 101;
}

/* All blocks, so that a reset can free them. */
typedef struct block {
    struct block *next;
    size_t bytes;
} block;
static block *blocks;
#define HEADER ((size_t)256)

cudaError_t cudaDeviceReset(void)
{
    control.is_dead = false;
    control.n_resets++;
    while (blocks)
        (void)cudaFree((char *)blocks + HEADER);
    while (execs)
        (void)cudaGraphExecDestroy(execs);
    return fake_fails(__func__);
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr which, int device)
{
    (void)device;
    FAIL_IF_TOLD();
    *value = which == cudaDevAttrComputeCapabilityMajor   ? control.sm / 10
             : which == cudaDevAttrComputeCapabilityMinor ? control.sm % 10
             : which == cudaDevAttrL2CacheSize            ? 1 << 16
             : which == cudaDevAttrMultiProcessorCount    ? 4
             : which == cudaDevAttrClockRate              ? 1980000
                                                          : 2619000;
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t status = control.is_dead ? cudaErrorIllegalAddress : last_error;
    last_error = cudaSuccess;
    return status;
}

const char *cudaGetErrorName(cudaError_t status)
{
    return status == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation"
           : status == cudaErrorIllegalAddress ? "cudaErrorIllegalAddress"
                                               : "cudaErrorOther";
}

const char *cudaGetErrorString(cudaError_t status)
{
    return status == cudaErrorMemoryAllocation ? "out of memory" : "some error";
}

/* The block's bytes are all there is behind its header: sanitizers see what lies
 * outside. */
cudaError_t cudaMalloc(void **p, size_t bytes)
{
    FAIL_IF_TOLD();
    if (control.allocated + bytes > control.memory)
        return cudaErrorMemoryAllocation;
    block *b = aligned_alloc(HEADER, HEADER + (bytes + HEADER - 1) / HEADER * HEADER);
    *b = (block){blocks, bytes};
    blocks = b;
    control.allocated += bytes;
    control.n_blocks++;
    *p = (char *)b + HEADER;
    memset(*p, 0xff, bytes); /* NaN in every type */
    return cudaSuccess;
}

cudaError_t cudaFree(void *p)
{
    for (block **b = &blocks; *b; b = &(*b)->next) {
        block *found = *b;
        if ((char *)found + HEADER != (char *)p)
            continue;
        *b = found->next;
        control.allocated -= found->bytes;
        control.n_blocks--;
        free(found);
        return cudaSuccess;
    }
    return 1;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t stream)
{
    FAIL_IF_TOLD();
    if (!stream || capturing ||
        (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToHost))
        return 1;
    memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *p, int byte, size_t bytes, cudaStream_t stream)
{
    (void)stream;
    FAIL_IF_TOLD();
    if (!capturing)
        memset(p, byte, bytes);
    fake_operation(control.ms_launch, &control.n_launches);
    return cudaSuccess;
}

/* ---- driver ---- */

struct CUmod_st {
    const fake_kernel *kernels;
};

CUresult cuDeviceGetName(char *name, int cap, CUdevice device)
{
    FAIL_IF_TOLD();
    (void)device;
    snprintf(name, (size_t)cap, "Fake GPU");
    return 0;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    FAIL_IF_TOLD();
    int store;
    if (sscanf(image, "store %d", &store) != 1)
        return 200;
    *module = calloc(1, sizeof **module);
    (*module)->kernels = store == 0   ? fake_kernels_0
                         : store == 1 ? fake_kernels_1
                                      : fake_kernels_2;
    control.n_modules++;
    return 0;
}

CUresult cuModuleUnload(CUmodule module)
{
    free(module);
    control.n_modules--;
    return 0;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    FAIL_IF_TOLD();
    for (const fake_kernel *k = module->kernels; k->name; k++) {
        *function = (CUfunction)(uintptr_t)k;
        if (strcmp(k->name, name) == 0)
            return 0;
    }
    return 500; /* not found */
}

CUresult cuGetErrorName(CUresult status, const char **text)
{
    *text = status == cudaErrorIllegalAddress ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                              : "CUDA_ERROR_OTHER";
    return 0;
}

/* ---- threads, one at a time ---- */

fake_index fake_thread, fake_block, fake_block_size, fake_grid_size;

#define THREADS     4
#define STACK_BYTES ((size_t)256 << 10)

static ucontext_t scheduler, contexts[THREADS];
static char *stacks[THREADS];
static bool is_done[THREADS];
static unsigned running;
static const fake_kernel *kernel;
static const noe_cu_args *arguments;

void fake_barrier(void)
{
    if (fake_block_size.x > 1)
        swapcontext(&contexts[running], &scheduler);
}

static void thread_main(void)
{
    kernel->run(*arguments);
    is_done[running] = true;
}

static void start_thread(ucontext_t *context, char **stack)
{
    if (!*stack)
        *stack = malloc(STACK_BYTES);
    getcontext(context);
    context->uc_stack.ss_sp = *stack;
    context->uc_stack.ss_size = STACK_BYTES;
    context->uc_link = &scheduler;
    makecontext(context, thread_main, 0);
}

/* Each thread in turn up to its next barrier, until all are done. */
static void run_block(void)
{
    for (unsigned t = 0; t < THREADS; t++) {
        is_done[t] = false;
        start_thread(&contexts[t], &stacks[t]);
    }
    for (bool again = true; again;) {
        again = false;
        for (unsigned t = 0; t < THREADS; t++) {
            if (is_done[t])
                continue;
            running = fake_thread.x = t;
            swapcontext(&scheduler, &contexts[t]);
            again = again || !is_done[t];
        }
    }
}

__attribute__((destructor)) static void free_stacks(void)
{
    for (int t = 0; t < THREADS; t++)
        free(stacks[t]);
}

/* Small blocks and grids, so that loops over them go round. */
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                        unsigned grid_z, unsigned block_x, unsigned block_y,
                        unsigned block_z, unsigned shared_bytes, CUstream stream,
                        void **params, void **extra)
{
    FAIL_IF_TOLD();
    if (!stream || extra || shared_bytes || grid_x == 0 || block_x == 0 ||
        block_x > 1024 || (block_x & (block_x - 1)) ||
        grid_y * grid_z * block_y * block_z != 1)
        return 1;
    kernel = (const fake_kernel *)(uintptr_t)function;
    arguments = params[0];
    fake_operation(control.ms_launch, &control.n_launches);
    if (capturing)
        return 0;
    fake_grid_size.x = grid_x < 3 ? grid_x : 3;
    fake_block_size.x = kernel->has_barrier ? THREADS : 1;
    fake_thread.x = 0;
    for (fake_block.x = 0; fake_block.x < fake_grid_size.x; fake_block.x++) {
        if (kernel->has_barrier)
            run_block();
        else
            kernel->run(*arguments);
    }
    return 0;
}

/* ---- NVRTC ---- */

struct _nvrtcProgram {
    int store;
};

nvrtcResult nvrtcVersion(int *major, int *minor)
{
    *major = 13;
    *minor = 0;
    return 0;
}

const char *nvrtcGetErrorString(nvrtcResult status)
{
    return status == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_OTHER";
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *source,
                               const char *name, int n_headers,
                               const char *const *headers, const char *const *names)
{
    (void)name, (void)headers, (void)names;
    FAIL_IF_TOLD();
    const char *store = strstr(source, "#define NOE_STORE ");
    if (!store || n_headers != 0)
        return 1;
    *program = calloc(1, sizeof **program);
    (*program)->store = atoi(store + strlen("#define NOE_STORE "));
    return 0;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int n_options,
                                const char *const *options)
{
    (void)program;
    FAIL_IF_TOLD();
    snprintf(control.arch, sizeof control.arch, "%s", n_options > 0 ? options[0] : "");
    return 0;
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *bytes)
{
    (void)program;
    *bytes = 16;
    return 0;
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *cubin)
{
    snprintf(cubin, 16, "store %d", program->store);
    return 0;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *bytes)
{
    (void)program;
    *bytes = 32;
    return 0;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log)
{
    (void)program;
    snprintf(log, 32, "kernels.cu(7): some error");
    return 0;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program)
{
    free(*program);
    *program = NULL;
    return 0;
}
