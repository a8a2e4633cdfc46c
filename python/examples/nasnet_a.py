# SPDX-License-Identifier: Apache-2.0
from common import Network, conv_bn, run


def separable(graph, x, channels, k, stride=1):
    """ReLU, a convolution a channel, and one across channels; twice."""
    for s in (stride, 1):
        x = graph.relu(x)
        depth = graph.new_weight(dims=(x.dim(1), 1, k, k))
        x = graph.conv2d(input=x, weight=depth, strides=(s, s), padding="SAME")
        x = conv_bn(graph, x, channels, (1, 1), relu=False)
    return x


def squeeze(graph, x, channels, stride=1):
    return conv_bn(graph, graph.relu(x), channels, (1, 1), stride, relu=False)


def average(graph, x, stride=1):
    return graph.avgpool2d(input=x, kernels=(3, 3), strides=(stride, stride),
                           padding="SAME")


def largest(graph, x):
    return graph.maxpool2d(input=x, kernels=(3, 3), strides=(2, 2), padding="SAME")


def fit(graph, before, x, channels):
    """The cell before, in the size of this one."""
    return squeeze(graph, before, channels, before.dim(2) // x.dim(2) or 1)


def normal_cell(graph, before, x, channels):
    p, h = fit(graph, before, x, channels), squeeze(graph, x, channels)
    parts = [graph.add(separable(graph, h, channels, 3), h),
             graph.add(separable(graph, p, channels, 3),
                       separable(graph, h, channels, 5)),
             graph.add(average(graph, h), p),
             graph.add(average(graph, p), average(graph, p)),
             graph.add(separable(graph, p, channels, 5),
                       separable(graph, p, channels, 3))]
    return graph.concat(1, [p] + parts)


def reduction_cell(graph, before, x, channels):
    p, h = fit(graph, before, x, channels), squeeze(graph, x, channels)
    a = graph.add(separable(graph, p, channels, 7, 2), separable(graph, h, channels, 5, 2))
    b = graph.add(separable(graph, p, channels, 7, 2), largest(graph, h))
    c = graph.add(separable(graph, p, channels, 5, 2), average(graph, h, 2))
    d = graph.add(average(graph, a), b)
    e = graph.add(separable(graph, a, channels, 3), largest(graph, h))
    return graph.concat(1, [b, c, d, e])


def build(size=224, channels=128, cells=5, classes=1000, batch=1):
    """NASNet-A: Zoph et al., Learning transferable architectures, CVPR'18."""
    graph = Network()
    x = graph.new_input(dims=(batch, 3, size, size), name="image")
    before = x = conv_bn(graph, x, channels // 2, (3, 3), 2, relu=False)
    for stage in range(3):
        for _ in range(cells):
            before, x = x, normal_cell(graph, before, x, channels << stage)
        if stage < 2:
            before, x = x, reduction_cell(graph, before, x, channels << (stage + 1))
    x = graph.flatten(graph.global_avgpool2d(graph.relu(x)))
    graph.fc(x, graph.new_weight(dims=(x.dim(1), classes)),
             bias=graph.new_weight(dims=(classes,)))
    return graph


SMALL = {"size": 32, "channels": 4, "cells": 1, "classes": 10}

if __name__ == "__main__":
    run(build, SMALL)
