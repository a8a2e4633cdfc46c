# SPDX-License-Identifier: Apache-2.0
from common import Network, run


def cell(graph, x, h, weights):
    """The recurrent cell that a search found: eight pairs of products, merged."""
    def pair(i, merge, activation):
        a, b = (graph.matmul(t, weights[2 * i + k]) for k, t in enumerate((x, h)))
        return activation(merge(a, b))

    relu, tanh, sigmoid = graph.relu, graph.tanh, graph.sigmoid
    left = [pair(0, graph.add, relu), pair(1, graph.add, sigmoid),
            pair(2, graph.add, relu), pair(3, graph.mul, tanh),
            pair(4, graph.add, tanh), pair(5, graph.add, sigmoid),
            pair(6, graph.add, tanh), pair(7, graph.add, sigmoid)]
    middle = [tanh(graph.mul(left[0], left[1])), tanh(graph.add(left[2], left[3])),
              sigmoid(graph.mul(left[4], left[5])), tanh(graph.mul(left[6], left[7]))]
    right = [tanh(graph.add(middle[0], middle[1])), tanh(graph.mul(middle[2], middle[3]))]
    return tanh(graph.mul(right[0], right[1]))


def build(hidden=512, length=5, batch=1):
    """NasRNN: Zoph and Le, Neural architecture search, ICLR'17; unrolled."""
    graph = Network()
    weights = [graph.new_weight(dims=(hidden, hidden)) for _ in range(16)]
    h = graph.new_input(dims=(batch, hidden), name="state")
    for i in range(length):
        h = cell(graph, graph.new_input(dims=(batch, hidden), name=f"x{i}"), h, weights)
    return graph


SMALL = {"hidden": 16, "length": 2}

if __name__ == "__main__":
    run(build, SMALL)
