/* SPDX-License-Identifier: Apache-2.0
 *
 * noether-make-model: writes a network of real size with random weights.
 */
#include "core/base/file.h"
#include "core/base/options.h"
#include "onnx_io/make_model/network.h"
#include <stdio.h>
#include <stdlib.h>

static int64_t seed = 1;

static const noe_option options[] = {
    {"seed", 0, NOE_OPTION_INT, &seed, 0, 9e15, "<n>", "seed of the weights", 1},
};

static const noe_program program = {
    .name = "noether-make-model",
    .operands = "NETWORK FILE.onnx",
    .summary = "Writes a network of real size with random weights as an ONNX file.",
    .epilogue = "Networks:\n"
                "  resnet50    ResNet-50 v1 with batch normalization, 25 M weights\n"
                "  squeezenet  SqueezeNet 1.1, 1.2 M weights\n"
                "  mlp         four dense layers, 2.4 M weights\n"
                "\n"
                "Example:\n"
                "  noether-make-model squeezenet squeezenet.onnx --seed 7\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .min_operands = 2,
    .max_operands = 2,
};

static noe_status make(const char *network, const char *path, noe_error *err)
{
    char *data;
    size_t len;
    NOE_TRY(noe_network_make(network, (uint64_t)seed, &data, &len, err));
    noe_status status = noe_file_write(path, data, len, err);
    free(data);
    return status;
}

int main(int argc, char **argv)
{
    const char *operands[2];
    int n;
    noe_error err;
    noe_options_parse(&program, argc, argv, operands, &n);
    if (make(operands[0], operands[1], &err) != NOE_OK)
        return noe_report(&program, &err);
    return 0;
}
