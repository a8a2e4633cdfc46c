# SPDX-License-Identifier: Apache-2.0
import resnet50
from common import run


def build(groups=32, **sizes):
    """ResNeXt-50 (32 x 4d): Xie et al., Aggregated residual transformations, CVPR'17."""
    return resnet50.build(groups=groups, base=2, **sizes)


SMALL = {**resnet50.SMALL, "groups": 4}

if __name__ == "__main__":
    run(build, SMALL)
