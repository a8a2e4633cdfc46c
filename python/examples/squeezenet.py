# SPDX-License-Identifier: Apache-2.0
from common import Network, run


def layer(graph, x, channels, kernel, stride=1):
    """Convolution with bias, and ReLU."""
    weight = graph.new_weight(dims=(channels, x.dim(1), *kernel))
    y = graph.conv2d(input=x, weight=weight, strides=(stride, stride), padding="SAME")
    return graph.relu(graph.add(y, graph.new_weight(dims=(1, channels, 1, 1))))


def fire(graph, x, squeezed, expanded):
    x = layer(graph, x, squeezed, (1, 1))
    return graph.concat(1, [layer(graph, x, expanded, (1, 1)),
                            layer(graph, x, expanded, (3, 3))])


def build(size=224, width=16, classes=1000, batch=1):
    """SqueezeNet 1.1: Iandola et al., arXiv 1602.07360."""
    graph = Network()
    x = graph.new_input(dims=(batch, 3, size, size), name="image")
    x = layer(graph, x, 4 * width, (3, 3), 2)
    for factors in ((1, 1), (2, 2), (3, 3, 4, 4)):
        x = graph.maxpool2d(input=x, kernels=(3, 3), strides=(2, 2), padding="SAME")
        for k in factors:
            x = fire(graph, x, k * width, 4 * k * width)
    graph.flatten(graph.global_avgpool2d(layer(graph, x, classes, (1, 1))))
    return graph


SMALL = {"size": 32, "width": 2, "classes": 10}

if __name__ == "__main__":
    run(build, SMALL)
