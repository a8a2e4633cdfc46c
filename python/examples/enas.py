# SPDX-License-Identifier: Apache-2.0
from common import Network, conv_bn, run

# Of each node of a cell: two operands (0 and 1: the cells before), two operators.
CELL = [(0, 1, "sep5", "avg"), (1, 1, "sep3", "id"), (0, 2, "avg", "sep3"),
        (1, 3, "sep5", "max"), (2, 0, "id", "sep3")]


def apply(graph, x, op, channels):
    if op == "id":
        return x
    if op in ("avg", "max"):
        pool = graph.avgpool2d if op == "avg" else graph.maxpool2d
        return pool(input=x, kernels=(3, 3), strides=(1, 1), padding="SAME")
    k = int(op[3])
    depth = graph.new_weight(dims=(x.dim(1), 1, k, k))
    y = graph.conv2d(input=graph.relu(x), weight=depth, strides=(1, 1), padding="SAME")
    return conv_bn(graph, y, channels, (1, 1), relu=False)


def cell(graph, before, x, channels):
    values = [conv_bn(graph, before, channels, (1, 1), before.dim(2) // x.dim(2)),
              conv_bn(graph, x, channels, (1, 1))]
    used = set()
    for a, b, f, g in CELL:
        values.append(graph.add(apply(graph, values[a], f, channels),
                                apply(graph, values[b], g, channels)))
        used |= {a, b}
    return graph.concat(1, [v for i, v in enumerate(values) if i not in used])


def build(size=32, channels=36, cells=6, classes=10, batch=1):
    """A network like ENAS finds: Pham et al., Efficient neural architecture search,
    ICML'18."""
    graph = Network()
    x = graph.new_input(dims=(batch, 3, size, size), name="image")
    before = x = conv_bn(graph, x, channels, (3, 3), relu=False)
    for i in range(cells):
        if i in (cells // 3, 2 * cells // 3) and i > 0:
            channels *= 2
            x = graph.maxpool2d(input=x, kernels=(2, 2), strides=(2, 2),
                                padding="VALID")
        before, x = x, cell(graph, before, x, channels)
    x = graph.flatten(graph.global_avgpool2d(graph.relu(x)))
    graph.fc(x, graph.new_weight(dims=(x.dim(1), classes)),
             bias=graph.new_weight(dims=(classes,)))
    return graph


SMALL = {"size": 16, "channels": 4, "cells": 2}

if __name__ == "__main__":
    run(build, SMALL)
