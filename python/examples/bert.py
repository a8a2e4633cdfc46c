# SPDX-License-Identifier: Apache-2.0
from common import Network, run


def dense(graph, x, n, activation=None):
    y = graph.fc(x, graph.new_weight(dims=(x.dim(x.nDim - 1), n)),
                 bias=graph.new_weight(dims=(n,)))
    return activation(y) if activation else y


def norm(graph, x):
    n = (x.dim(x.nDim - 1),)
    return graph.layernorm(x, graph.new_weight(dims=n), graph.new_weight(dims=n))


def gelu(graph, x):
    half, root = (graph.new_weight(data=v, dims=()) for v in (0.5, 2 ** -0.5))
    one = graph.new_weight(data=1.0, dims=())
    return graph.mul(graph.mul(x, half), graph.add(graph.erf(graph.mul(x, root)), one))


def attention(graph, x, heads):
    n, length, hidden = x.dims
    part = hidden // heads

    def head(perm):
        y = graph.reshape(dense(graph, x, hidden), (n, length, heads, part))
        return graph.transpose(y, perm)

    query, key, value = head((0, 2, 1, 3)), head((0, 2, 3, 1)), head((0, 2, 1, 3))
    scale = graph.new_weight(data=part ** -0.5, dims=())
    weights = graph.softmax(graph.mul(graph.matmul(query, key), scale))
    y = graph.transpose(graph.matmul(weights, value), (0, 2, 1, 3))
    return dense(graph, graph.reshape(y, (n, length, hidden)), hidden)


def build(layers=12, hidden=768, heads=12, length=128, batch=1):
    """BERT's encoder: Devlin et al., NAACL'19."""
    graph = Network()
    x = graph.new_input(dims=(batch, length, hidden), name="embeddings")
    for _ in range(layers):
        x = norm(graph, graph.add(x, attention(graph, x, heads)))
        y = dense(graph, x, 4 * hidden, lambda t: gelu(graph, t))
        x = norm(graph, graph.add(x, dense(graph, y, hidden)))
    return graph


SMALL = {"layers": 1, "hidden": 32, "heads": 2, "length": 8}

if __name__ == "__main__":
    run(build, SMALL)
