# SPDX-License-Identifier: Apache-2.0
"""What the examples share: a command line, and layers that several networks have."""

import argparse

import noether


def conv_bn(graph, x, channels, kernel, stride=1, groups=1, padding="SAME", relu=True):
    """Convolution, batch normalization, and ReLU. x [N, C, H, W]."""
    weight = graph.new_weight(dims=(channels, x.dim(1) // groups, *kernel))
    y = graph.conv2d(input=x, weight=weight, strides=(stride, stride), padding=padding)
    scale, bias, mean, var = (graph.new_weight(dims=(channels,)) for _ in range(4))
    y = graph.batchnorm(y, scale, bias, mean, graph.add_one(var))
    return graph.relu(y) if relu else y


class Network(noether.Graph):
    """A graph with what the layers above need."""

    def add_one(self, x):
        """A weight that is positive: statistics have no negative variance."""
        one = self.new_weight(data=[1.5] * x.dim(0), dims=x.dims)
        return self.add(self.tanh(x), one)


def run(build, small):
    """The command line of an example. build(**sizes) makes the graph; small are sizes
    that a test has time for."""
    parser = argparse.ArgumentParser(description=build.__doc__)
    parser.add_argument("--small", action="store_true", help="a small network")
    parser.add_argument("--batch", type=int, default=1, help="inputs at a time")
    parser.add_argument("--save", metavar="FILE", help="write the network as it is")
    parser.add_argument("--only-save", metavar="FILE", help="the same, and stop there")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the result")
    parser.add_argument("--rules", metavar="FILE")
    parser.add_argument("--costs", metavar="FILE")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--budget", type=int, default=300)
    parser.add_argument("--time-limit", type=float)
    args = parser.parse_args()
    graph = build(**(small if args.small else {}), batch=args.batch)
    for path in filter(None, (args.save, args.only_save)):
        graph.save(path)
    if args.only_save:
        return
    better = noether.optimize(graph, budget=args.budget, rules=args.rules,
                              costs=args.costs, device=args.device,
                              time_limit=args.time_limit)
    print(better.report)
    if args.output:
        noether.export(better, args.output)
