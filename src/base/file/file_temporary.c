/*
 * Names of unfinished files, and the list of them.
 *
 * A signal handler may only read memory that is valid at any moment and must not take a
 * lock. So the list is a table of atomic pointers, in blocks that are added and never
 * freed. The thread that exchanges a pointer for NULL owns the entry. This is either the
 * writer, which frees it, or the handler, which removes the file and does not free the
 * entry.
 *
 * Another thread may be about to create a file while the handler runs. Creating and
 * listing a file is therefore one section. The handler first forbids new sections and
 * then waits for those that have begun. A thread blocks the signals during its section,
 * so the handler never waits for the thread that it interrupted.
 */
#include "base/file/file_temporary.h"

#include "base/array.h"
#include "base/file/file_stale.h"
#include "base/str.h"
#include "halley/unfinished.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    NAME_KEPT = 200, /* of the target's name in the temporary one; NAME_MAX is 255 */
    NAME_ADDED = 36,
    BLOCK_SLOTS = 1024,
    MOST_BLOCKS = 4096,
    MOST_WAIT_MS = 10000, /* time to wait for other threads that are renaming */
};

typedef _Atomic(file_temporary *) slot;

/* The exception to "no mutable globals": a signal handler has no argument that could
 * point to a list. */
static _Atomic(slot *) blocks[MOST_BLOCKS];
static atomic_uint next_slot;  /* where the search for a free one starts */
static atomic_uint n_sections; /* begun and not ended */
static atomic_bool is_removing;

int file_section_begin(file_section *section)
{
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    sigaddset(&held, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &held, &section->before);
    atomic_fetch_add(&n_sections, 1);
    if (!atomic_load(&is_removing))
        return 0;
    file_section_end(section);
    return ECANCELED;
}

void file_section_end(const file_section *section)
{
    atomic_fetch_sub(&n_sections, 1);
    pthread_sigmask(SIG_SETMASK, &section->before, NULL);
}

/* The block, which is allocated if necessary; NULL: no memory. */
static slot *get_block(uint32_t i)
{
    slot *block = atomic_load(&blocks[i]);
    if (block != NULL)
        return block;
    slot *fresh = calloc(BLOCK_SLOTS, sizeof *fresh);
    if (fresh == NULL || atomic_compare_exchange_strong(&blocks[i], &block, fresh))
        return fresh;
    free(fresh); /* another thread was first */
    return block;
}

/* Put t into a free slot, and the slot's number into t. Blocks are filled in order: a
 * block is searched only if it exists or all blocks before it were full. */
static bool list_temporary(file_temporary *t)
{
    const uint32_t start = atomic_load(&next_slot) % (BLOCK_SLOTS * MOST_BLOCKS);
    for (uint32_t k = 0; k < BLOCK_SLOTS * MOST_BLOCKS; k++) {
        t->slot = (start + k) % (BLOCK_SLOTS * MOST_BLOCKS);
        slot *block = get_block(t->slot / BLOCK_SLOTS);
        if (block == NULL)
            return false;
        file_temporary *none = NULL;
        if (atomic_compare_exchange_strong(&block[t->slot % BLOCK_SLOTS], &none, t)) {
            atomic_store(&next_slot, t->slot + 1);
            return true;
        }
    }
    return false;
}

/* Remove t from the list; false if a handler has taken it. */
static bool unlist_temporary(file_temporary *t)
{
    slot *block = atomic_load(&blocks[t->slot / BLOCK_SLOTS]);
    assert(block != NULL);
    file_temporary *expected = t;
    if (!atomic_compare_exchange_strong(&block[t->slot % BLOCK_SLOTS], &expected, NULL))
        return false;
    /* Reuse low slots first, so that the table stays small. */
    unsigned next = atomic_load(&next_slot);
    if (t->slot < next)
        atomic_compare_exchange_strong(&next_slot, &next, t->slot);
    return true;
}

static file_temporary *alloc_temporary(const char *path, size_t *n_folder,
                                       const char **name)
{
    const char *slash = strrchr(path, '/');
    *name = slash != NULL ? slash + 1 : path;
    *n_folder = (size_t)(*name - path);
    file_temporary *t = mem_array(sizeof *t + *n_folder + NAME_KEPT + NAME_ADDED, 1);
    if (t != NULL)
        memcpy(t->path, path, *n_folder);
    return t;
}

/* Create and list the file; on failure do neither. */
static int make_listed(file_temporary *t, file_maker *make, void *context)
{
    assert(make != NULL);
    file_section section;
    int reason = file_section_begin(&section);
    if (reason != 0)
        return reason;
    if (!list_temporary(t))
        reason = ENOMEM;
    if (reason == 0) {
        reason = make(t->path, context);
        if (reason != 0)
            (void)unlist_temporary(t);
    }
    file_section_end(&section);
    return reason;
}

int file_temporary_new(file_temporary **out, const char *path, bool is_folder,
                       file_maker *make, void *context)
{
    assert(path != NULL && make != NULL);
    size_t n_folder;
    const char *name;
    file_temporary *t = alloc_temporary(path, &n_folder, &name);
    if (t == NULL)
        return ENOMEM;
    t->kind = is_folder ? FILE_TEMPORARY_FOLDER : FILE_TEMPORARY_FILE;
    t->path[n_folder] = '\0';
    file_stale_remove(n_folder > 0 ? t->path : ".");
    const uint32_t machine = file_machine_tag();
    int reason = EEXIST;
    for (int attempt = 0; reason == EEXIST && attempt < 100; attempt++) {
        uint32_t random = 0;
        if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
            random = (uint32_t)getpid() * 2654435761u + (uint32_t)attempt;
        snprintf(t->path + n_folder, NAME_KEPT + NAME_ADDED, ".%.*s.%08x-%08x-%x%s",
                 NAME_KEPT, name, random, machine, (unsigned)getpid(),
                 str_ends(str_from(name), STR(".gz")) ? ".gz" : "");
        reason = make_listed(t, make, context);
    }
    if (reason == 0)
        *out = t;
    else
        free(t);
    return reason;
}

static int make_named_folder(const char *path, void *unused)
{
    (void)unused;
    return mkdir(path, 0777) == 0 ? 0 : errno;
}

int file_temporary_make_folder(file_temporary **out, const char *path)
{
    assert(path != NULL);
    const size_t size = strlen(path) + 1;
    file_temporary *const t = mem_array(sizeof *t + size, 1);
    if (t == NULL)
        return ENOMEM;
    t->kind = FILE_TEMPORARY_MADE;
    memcpy(t->path, path, size);
    const int reason = make_listed(t, make_named_folder, NULL);
    if (reason == 0)
        *out = t;
    else
        free(t);
    return reason;
}

void file_temporary_free(file_temporary *t)
{
    if (t != NULL && unlist_temporary(t))
        free(t);
}

/* From here on, only functions that POSIX allows in a signal handler are called. */

typedef struct dirent_of_kernel { /* of getdents64: readdir may allocate */
    uint64_t ino;
    int64_t offset;
    uint16_t n;
    uint8_t type;
    char name[];
} dirent_of_kernel;

/* Remove the files of one pass over the folder and return their number. */
static long empty_once(int fd)
{
    _Alignas(8) char buffer[4096];
    long removed = 0, n;
    while ((n = syscall(SYS_getdents64, fd, buffer, sizeof buffer)) > 0) {
        for (long at = 0; at < n;) {
            const dirent_of_kernel *e = (const void *)(buffer + at);
            removed += unlinkat(fd, e->name, 0) == 0; /* not "." and ".." */
            at += e->n;
        }
    }
    return removed;
}

void file_folder_remove(const char *path)
{
    assert(path != NULL);
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    while (empty_once(fd) > 0 && lseek(fd, 0, SEEK_SET) == 0)
        ;
    close(fd);
    rmdir(path);
}

/* Created folders go to *made, the last one first, because others may be inside. */
static uint32_t remove_block(slot *block, file_temporary **made)
{
    uint32_t removed = 0;
    for (uint32_t i = 0; i < BLOCK_SLOTS; i++) {
        file_temporary *const t = atomic_exchange(&block[i], NULL);
        if (t == NULL)
            continue;
        if (t->kind == FILE_TEMPORARY_MADE) {
            t->next = *made;
            *made = t;
        } else if (t->kind == FILE_TEMPORARY_FOLDER) {
            file_folder_remove(t->path);
        } else {
            unlink(t->path);
        }
        removed++;
    }
    return removed;
}

uint32_t halley_unfinished_remove(void)
{
    const int kept = errno;
    uint32_t removed = 0;
    file_temporary *made = NULL;
    atomic_store(&is_removing, true);
    for (int ms = 0; atomic_load(&n_sections) > 0 && ms < MOST_WAIT_MS; ms++)
        poll(NULL, 0, 1);
    for (uint32_t i = 0; i < MOST_BLOCKS; i++) {
        slot *block = atomic_load(&blocks[i]);
        if (block != NULL)
            removed += remove_block(block, &made);
    }
    for (; made != NULL; made = made->next)
        rmdir(made->path);
    errno = kept;
    return removed;
}
