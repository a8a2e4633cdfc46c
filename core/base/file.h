/* SPDX-License-Identifier: Apache-2.0
 *
 * Files: whole reads with a size limit, and writes that are complete or absent. Sockets
 * between processes.
 */
#ifndef NOE_CORE_BASE_FILE_H
#define NOE_CORE_BASE_FILE_H

#include "core/base/status.h"
#include <stdbool.h>
#include <stdint.h>

/* Reads all of path into a fresh malloc'ed block with a NUL behind it. */
NOE_NODISCARD noe_status noe_file_read(const char *path, uint64_t max_bytes,
                                       char **data, size_t *len, noe_error *err);

/* Writes data to a temporary file in path's folder, syncs it and renames it to path:
 * after a failure the old file, if any, is untouched and the temporary one is gone. */
NOE_NODISCARD noe_status noe_file_write(const char *path, const void *data, size_t len,
                                        noe_error *err);

/* The same for content that lies in pieces; at NULL: zeros. */
typedef struct noe_file_piece {
    const void *at;
    size_t len;
} noe_file_piece;
NOE_NODISCARD noe_status noe_file_write_pieces(const char *path,
                                               const noe_file_piece *pieces, size_t n,
                                               noe_error *err);

/* Would noe_file_write succeed, as far as can be told? For asking before long work: a
 * temporary file is made beside path and removed. */
NOE_NODISCARD noe_status noe_file_check_writable(const char *path, noe_error *err);

/* All of n bytes through a socket, interrupted or not; false when the other side is
 * gone (no signal is raised). */
NOE_NODISCARD bool noe_send(int fd, const void *data, size_t n);
NOE_NODISCARD bool noe_receive(int fd, void *data, size_t n);

#endif
