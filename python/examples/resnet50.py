# SPDX-License-Identifier: Apache-2.0
from common import Network, conv_bn, run


def block(graph, x, width, stride, groups, out):
    """1x1, 3x3, 1x1 convolutions beside a shortcut."""
    y = conv_bn(graph, x, width, (1, 1))
    y = conv_bn(graph, y, width, (3, 3), stride, groups)
    y = conv_bn(graph, y, out, (1, 1), relu=False)
    if x.dim(1) != out or stride > 1:
        x = conv_bn(graph, x, out, (1, 1), stride, relu=False)
    return graph.relu(graph.add(y, x))


def build(size=224, width=64, depths=(3, 4, 6, 3), classes=1000, groups=1, base=1,
          batch=1):
    """ResNet-50: He et al., Deep residual learning for image recognition, CVPR'16."""
    graph = Network()
    x = graph.new_input(dims=(batch, 3, size, size), name="image")
    x = conv_bn(graph, x, width, (7, 7), 2)
    x = graph.maxpool2d(input=x, kernels=(3, 3), strides=(2, 2), padding="SAME")
    for stage, depth in enumerate(depths):
        for i in range(depth):
            x = block(graph, x, base * width << stage, 2 if stage and i == 0 else 1,
                      groups, width << (stage + 2))
    x = graph.flatten(graph.global_avgpool2d(x))
    graph.fc(x, graph.new_weight(dims=(x.dim(1), classes)),
             bias=graph.new_weight(dims=(classes,)))
    return graph


SMALL = {"size": 32, "width": 8, "depths": (1, 1), "classes": 10}

if __name__ == "__main__":
    run(build, SMALL)
