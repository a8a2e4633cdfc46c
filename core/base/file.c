/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing: a temporary file in the target's folder, fsync, rename, fsync of the folder.
 * Whoever reads the target sees the old file or the new one, never a part. A symbolic
 * link is followed once, by name: the file that it leads to is replaced, the link
 * stays. A target that exists and is no regular file (/dev/null, a pipe) is written to
 * in place, since renaming over it would destroy it.
 *
 * Not promised: hard links to the old file keep the old content; ownership and access
 * lists of the old file are not carried over, its permission bits are.
 */
#include "core/base/file.h"
#include "core/base/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_READ_BYTES ((size_t)64 << 10)
#define MAX_NAME_TRIES   1000

static noe_status fail_errno(noe_error *err, const char *path, const char *what)
{
    return noe_fail(err, NOE_ERR_IO, "%s: %s: %s", path, what, strerror(errno));
}

static noe_status fail_size(noe_error *err, const char *path, uint64_t max_bytes)
{
    return noe_fail(err, NOE_ERR_LIMIT, "%s: larger than the limit of %llu bytes", path,
                    (unsigned long long)max_bytes);
}

/* Reads to the end; *cap bytes of *data are allocated, the last is kept for the NUL. */
static noe_status read_all(int fd, const char *path, uint64_t max_bytes, char **data,
                           size_t cap, size_t *len, noe_error *err)
{
    *data = noe_malloc(cap);
    *len = 0;
    for (;;) {
        if (*len + 1 == cap) {
            cap *= 2;
            *data = noe_realloc(*data, cap);
        }
        ssize_t got = read(fd, *data + *len, cap - *len - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_errno(err, path, "cannot read");
        if (got == 0)
            break;
        *len += (size_t)got;
        if (*len > max_bytes)
            return fail_size(err, path, max_bytes);
    }
    (*data)[*len] = '\0';
    return NOE_OK;
}

noe_status noe_file_read(const char *path, uint64_t max_bytes, char **data, size_t *len,
                         noe_error *err)
{
    *data = NULL;
    *len = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(err, path, "cannot open");
    struct stat st;
    noe_status status = NOE_OK;
    size_t cap = FIRST_READ_BYTES;
    if (fstat(fd, &st) != 0)
        status = fail_errno(err, path, "cannot read");
    else if (S_ISREG(st.st_mode) && (uint64_t)st.st_size > max_bytes)
        status = fail_size(err, path, max_bytes);
    else if (S_ISREG(st.st_mode))
        cap = (size_t)st.st_size + 2; /* one more byte shows the end without growing */
    if (status == NOE_OK)
        status = read_all(fd, path, max_bytes, data, cap, len, err);
    close(fd);
    if (status != NOE_OK) {
        free(*data);
        *data = NULL;
        *len = 0;
    }
    return status;
}

static int write_bytes(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t put = write(fd, data, len);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return -1;
        data += put;
        len -= (size_t)put;
    }
    return 0;
}

static int write_all(int fd, const noe_file_piece *pieces, size_t n)
{
    static const char zeros[4096];
    for (size_t i = 0; i < n; i++) {
        size_t left = pieces[i].len;
        while (!pieces[i].at && left > 0) {
            size_t some = left < sizeof zeros ? left : sizeof zeros;
            if (write_bytes(fd, zeros, some) != 0)
                return -1;
            left -= some;
        }
        if (pieces[i].at && write_bytes(fd, pieces[i].at, left) != 0)
            return -1;
    }
    return 0;
}

static noe_status write_in_place(const char *path, const noe_file_piece *pieces,
                                 size_t n, noe_error *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(err, path, "cannot open for writing");
    int failed = write_all(fd, pieces, n);
    if (close(fd) != 0)
        failed = 1;
    return failed ? fail_errno(err, path, "cannot write") : NOE_OK;
}

/* Creates a new file in path's folder and gives its name. */
static int create_temporary(const char *path, noe_buf *name)
{
    const char *slash = strrchr(path, '/');
    for (int i = 0; i < MAX_NAME_TRIES; i++) {
        noe_buf_clear(name);
        if (slash)
            noe_buf_add(name, path, (size_t)(slash - path) + 1);
        noe_buf_printf(name, ".noether-%ld-%d.tmp", (long)getpid(), i);
        int fd = open(name->text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                      0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static void sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    noe_buf folder = {0};
    if (slash)
        noe_buf_add(&folder, path, (size_t)(slash - path) + 1);
    else
        noe_buf_puts(&folder, ".");
    /* The file is whole by now either way, so a folder that cannot be synced is fine.
     */
    int fd = open(folder.text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    noe_buf_clear(&folder);
}

/* old_mode: permission bits to keep, or -1. */
static noe_status replace_file(const char *path, int old_mode,
                               const noe_file_piece *pieces, size_t n, noe_error *err)
{
    noe_buf name = {0};
    noe_status status = NOE_OK;
    int fd = create_temporary(path, &name);
    if (fd < 0) {
        status = fail_errno(err, path, "cannot create a temporary file beside it");
        goto out;
    }
    int failed = write_all(fd, pieces, n);
    if (!failed && old_mode >= 0)
        failed = fchmod(fd, (mode_t)old_mode);
    if (!failed)
        failed = fsync(fd);
    int cause = errno;
    if (close(fd) != 0 && !failed) {
        failed = 1;
        cause = errno;
    }
    if (!failed && rename(name.text, path) != 0) {
        failed = 1;
        cause = errno;
    }
    if (failed) {
        unlink(name.text);
        errno = cause;
        status = fail_errno(err, path, "cannot write");
        goto out;
    }
    sync_folder(path);
out:
    noe_buf_clear(&name);
    return status;
}

/* Where a write to path goes. */
typedef struct target {
    char *path; /* malloc'ed */
    bool in_place;
    int old_mode; /* of the file that is replaced, or -1 */
} target;

static noe_status check_existing(target *t, const struct stat *st, noe_error *err)
{
    t->in_place = !S_ISREG(st->st_mode);
    t->old_mode = (int)(st->st_mode & 07777);
    if (S_ISDIR(st->st_mode))
        return noe_fail(err, NOE_ERR_IO, "%s: cannot write: is a directory", t->path);
    if (access(t->path, W_OK) != 0)
        return fail_errno(err, t->path, "cannot write");
    return NOE_OK;
}

static noe_status find_target(const char *path, target *t, noe_error *err)
{
    struct stat st;
    *t = (target){.old_mode = -1};
    if (!*path)
        return noe_fail(err, NOE_ERR_IO, "cannot write: the file name is empty");
    if (lstat(path, &st) != 0) {
        if (errno != ENOENT)
            return fail_errno(err, path, "cannot write");
        t->path = noe_strdup(path);
        return NOE_OK;
    }
    if (S_ISLNK(st.st_mode)) {
        t->path = realpath(path, NULL);
        if (!t->path || stat(t->path, &st) != 0)
            return fail_errno(err, path, "cannot follow the symbolic link");
    } else {
        t->path = noe_strdup(path);
    }
    return check_existing(t, &st, err);
}

noe_status noe_file_write_pieces(const char *path, const noe_file_piece *pieces,
                                 size_t n, noe_error *err)
{
    target t;
    noe_status status = find_target(path, &t, err);
    if (status == NOE_OK)
        status = t.in_place ? write_in_place(t.path, pieces, n, err)
                            : replace_file(t.path, t.old_mode, pieces, n, err);
    free(t.path);
    return status;
}

noe_status noe_file_write(const char *path, const void *data, size_t len,
                          noe_error *err)
{
    return noe_file_write_pieces(path, &(noe_file_piece){data, len}, len > 0, err);
}

noe_status noe_file_check_writable(const char *path, noe_error *err)
{
    target t;
    noe_buf name = {0};
    noe_status status = find_target(path, &t, err);
    if (status == NOE_OK && !t.in_place) {
        int fd = create_temporary(t.path, &name);
        if (fd < 0) {
            status =
                fail_errno(err, t.path, "cannot create a temporary file beside it");
        } else {
            close(fd);
            unlink(name.text);
        }
    }
    noe_buf_clear(&name);
    free(t.path);
    return status;
}

bool noe_send(int fd, const void *data, size_t n)
{
    const char *at = data;
    while (n > 0) {
        ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += sent;
        n -= (size_t)sent;
    }
    return true;
}

bool noe_receive(int fd, void *data, size_t n)
{
    char *at = data;
    while (n > 0) {
        ssize_t got = recv(fd, at, n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        n -= (size_t)got;
    }
    return true;
}
