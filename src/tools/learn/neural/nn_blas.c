/*
 * Loads OpenBLAS on demand. If linked in the usual way, it would load with every
 * command, start its threads and add 2.6 MB to a program of 4.4 MB. Also, halley would
 * not run without it. So it is opened by name when a network is trained. If it is
 * missing, our own loops do the work, more slowly.
 */
#include "learn/neural/nn.h"

#include <dlfcn.h>
#include <string.h>

/* POSIX allows the conversion of object pointers to function pointers; C does not. */
static void find_symbol(void *to, void *handle, const char *name)
{
    void *at = dlsym(handle, name);
    memcpy(to, &at, sizeof at);
}

void nn_blas_open(nn_blas *blas)
{
    *blas = (nn_blas){.handle = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL)};
    if (blas->handle == NULL)
        return;
    int (*get_threads)(void) = NULL;
    find_symbol(&blas->sgemm, blas->handle, "cblas_sgemm");
    find_symbol(&blas->set_threads, blas->handle, "openblas_set_num_threads");
    find_symbol(&get_threads, blas->handle, "openblas_get_num_threads");
    if (blas->sgemm == NULL || blas->set_threads == NULL || get_threads == NULL) {
        dlclose(blas->handle);
        *blas = (nn_blas){0};
        return;
    }
    blas->n_threads = get_threads();
    blas->set_threads(1);
}

void nn_blas_close(nn_blas *blas)
{
    if (blas->handle == NULL)
        return;
    blas->set_threads(blas->n_threads);
    dlclose(blas->handle);
    *blas = (nn_blas){0};
}
