# SPDX-License-Identifier: Apache-2.0
from common import Network, conv_bn, run


def chain(graph, x, *layers):
    """Convolutions in a row: (channels, kernel[, stride[, padding]]) each."""
    for channels, kernel, *rest in layers:
        stride, padding = (rest + [1, "SAME"][len(rest):])
        x = conv_bn(graph, x, channels, kernel, stride, padding=padding)
    return x


def pooled(graph, x, channels):
    y = graph.avgpool2d(input=x, kernels=(3, 3), strides=(1, 1), padding="SAME")
    return chain(graph, y, (channels, (1, 1)))


def grid(graph, x):
    return graph.maxpool2d(input=x, kernels=(3, 3), strides=(2, 2), padding="VALID")


def block_a(graph, x, w, pool):
    return graph.concat(1, [
        chain(graph, x, (4 * w, (1, 1))),
        chain(graph, x, (3 * w, (1, 1)), (4 * w, (5, 5))),
        chain(graph, x, (4 * w, (1, 1)), (6 * w, (3, 3)), (6 * w, (3, 3))),
        pooled(graph, x, pool)])


def block_b(graph, x, w):
    return graph.concat(1, [
        chain(graph, x, (24 * w, (3, 3), 2, "VALID")),
        chain(graph, x, (4 * w, (1, 1)), (6 * w, (3, 3)), (6 * w, (3, 3), 2, "VALID")),
        grid(graph, x)])


def block_c(graph, x, w, c):
    row, column = (1, 7), (7, 1)
    return graph.concat(1, [
        chain(graph, x, (12 * w, (1, 1))),
        chain(graph, x, (c, (1, 1)), (c, row), (12 * w, column)),
        chain(graph, x, (c, (1, 1)), (c, column), (c, row), (c, column), (12 * w, row)),
        pooled(graph, x, 12 * w)])


def block_d(graph, x, w):
    return graph.concat(1, [
        chain(graph, x, (12 * w, (1, 1)), (20 * w, (3, 3), 2, "VALID")),
        chain(graph, x, (12 * w, (1, 1)), (12 * w, (1, 7)), (12 * w, (7, 1)),
              (12 * w, (3, 3), 2, "VALID")),
        grid(graph, x)])


def block_e(graph, x, w):
    def fork(y):
        return [chain(graph, y, (24 * w, (1, 3))), chain(graph, y, (24 * w, (3, 1)))]

    return graph.concat(1, [chain(graph, x, (20 * w, (1, 1)))] +
                        fork(chain(graph, x, (24 * w, (1, 1)))) +
                        fork(chain(graph, x, (28 * w, (1, 1)), (24 * w, (3, 3)))) +
                        [pooled(graph, x, 12 * w)])


def build(size=299, w=16, repeats=4, classes=1000, batch=1):
    """Inception-v3: Szegedy et al., Rethinking the Inception architecture, CVPR'16."""
    graph = Network()
    x = graph.new_input(dims=(batch, 3, size, size), name="image")
    x = chain(graph, x, (2 * w, (3, 3), 2, "VALID"), (2 * w, (3, 3), 1, "VALID"),
              (4 * w, (3, 3)))
    x = chain(graph, grid(graph, x), (5 * w, (1, 1)), (12 * w, (3, 3), 1, "VALID"))
    x = grid(graph, x)
    for pool in (2 * w, 4 * w, 4 * w)[:repeats]:
        x = block_a(graph, x, w, pool)
    x = block_b(graph, x, w)
    for c in (8 * w, 10 * w, 10 * w, 12 * w)[:repeats]:
        x = block_c(graph, x, w, c)
    x = block_d(graph, x, w)
    for _ in range(min(repeats, 2)):
        x = block_e(graph, x, w)
    x = graph.flatten(graph.global_avgpool2d(x))
    graph.fc(x, graph.new_weight(dims=(x.dim(1), classes)),
             bias=graph.new_weight(dims=(classes,)))
    return graph


SMALL = {"size": 75, "w": 1, "repeats": 1, "classes": 10}

if __name__ == "__main__":
    run(build, SMALL)
