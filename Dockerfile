# SPDX-License-Identifier: Apache-2.0
#
# Builds and installs Noether from Debian's packages. A rule database is generated and
# verified in the first stage (minutes):
#   docker build -t noether .
#   docker run --rm -v "$PWD:/models" noether noether-optimize model.onnx -o out.onnx
FROM debian:12 AS build
RUN apt-get update && apt-get install -y --no-install-recommends \
    gcc libc6-dev cmake ninja-build pkg-config libz3-dev libsqlite3-dev libxxhash-dev \
    libprotobuf-c-dev protobuf-c-compiler libdnnl-dev libgraphviz-dev zlib1g-dev check \
    dpkg-dev
COPY . /src
WORKDIR /src
RUN cmake --preset release -DCMAKE_INSTALL_PREFIX=/usr -DBUILD_TESTING=OFF -DNOETHER_MPI=OFF && \
    cmake --build --preset release
RUN build/release/bin/noether-generate --db build/new.db --level 3 && \
    build/release/bin/noether-verify --db build/new.db --workers "$(nproc)" && mv build/new.db build/rules.db
RUN cd build/release && cpack -G DEB

FROM debian:12
COPY --from=build /src/build/release/*.deb /tmp/
RUN apt-get update && apt-get install -y --no-install-recommends /tmp/*.deb && \
    rm -rf /var/lib/apt/lists/* /tmp/*.deb
WORKDIR /models
CMD ["noether-optimize", "--help"]
