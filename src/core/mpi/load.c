/*
 * Find the plug-in. The first libhalley-mpi.so that can be opened and has the right
 * version is used. If there is none, the error quotes the loader's message for the last
 * file that exists. Usually the plug-in is there and its MPI library is missing.
 */
#include "mpi/load.h"

#include "base/error.h"
#include "base/file/file.h"
#include "base/str.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char plugin_file[] = "libhalley-mpi.so";

uint32_t mpi_count_started(void)
{
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                        "MPI_LOCALNRANKS"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char *text = getenv(sizes[i]);
        if (text == NULL)
            continue;
        const long n = strtol(text, NULL, 10);
        return n > 0 && n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
    }
    return getenv("PMIX_RANK") != NULL ? UINT32_MAX : 0;
}

/* The loader's handle of FOLDER/BELOW/libhalley-mpi.so. NULL if it does not exist or does
 * not open; `why` then holds the reason if the file exists. */
static void *open_in(const char *folder, size_t n, const char *below, strbuf *why)
{
    strbuf path = {0};
    void *handle = NULL;
    strbuf_add(&path, (str){folder, n});
    strbuf_printf(&path, "/%s%s", below, plugin_file);
    if (!path.failed && file_exists(path.at)) {
        handle = dlopen(path.at, RTLD_NOW | RTLD_GLOBAL);
        const char *said = handle == NULL ? dlerror() : NULL;
        why->n = 0;
        if (handle == NULL)
            strbuf_printf(why, "%s", said != NULL ? said : path.at);
    }
    strbuf_fini(&path);
    return handle;
}

/* Search the folder of this file, and where an installation has the plug-in relative to
 * it. */
static void *open_near(const char *file, strbuf *why)
{
    static const char *const below[] = {"", "halley/", "../" HALLEY_LIBDIR "/halley/"};
    const char *slash = strrchr(file, '/');
    void *handle = NULL;
    for (size_t i = 0; slash != NULL && i < sizeof below / sizeof *below; i++) {
        handle = open_in(file, (size_t)(slash - file), below[i], why);
        if (handle != NULL)
            break;
    }
    return handle;
}

static void *open_plugin(strbuf *why)
{
    const char *given = getenv("HALLEY_PLUGINS");
    if (given != NULL && given[0] != '\0')
        return open_in(given, strlen(given), "", why);
    Dl_info here;
    void *handle = NULL;
    if (dladdr(plugin_file, &here) != 0 && here.dli_fname != NULL)
        handle = open_near(here.dli_fname, why);
    char program[4096];
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (handle == NULL && n > 0) {
        program[n] = '\0';
        handle = open_near(program, why);
    }
    if (handle == NULL)
        handle = open_in(HALLEY_PREFIX "/" HALLEY_LIBDIR,
                         strlen(HALLEY_PREFIX "/" HALLEY_LIBDIR), "halley/", why);
    return handle;
}

static halley_status refuse_plugin(halley_error *err, const strbuf *why)
{
    return error_set(
        err, HALLEY_ENOTFOUND,
        "this process was started by MPI, but the MPI plug-in %s %s%s; build "
        "halley with MPI (-Dmpi=enabled), or name the plug-in's folder in "
        "HALLEY_PLUGINS",
        plugin_file, why->n > 0 ? "does not open: " : "was not found",
        why->n > 0 ? why->at : "");
}

halley_status mpi_plugin_load(const mpi_plugin **out, halley_error *err)
{
    strbuf why = {0};
    void *handle = open_plugin(&why);
    const mpi_plugin *plugin = handle != NULL ? dlsym(handle, MPI_PLUGIN_SYMBOL) : NULL;
    halley_status status = HALLEY_OK;
    if (plugin == NULL)
        status = refuse_plugin(err, &why);
    else if (plugin->version != MPI_PLUGIN_VERSION)
        status =
            error_set(err, HALLEY_EINVAL,
                      "the MPI plug-in %s is of another release of halley", plugin_file);
    strbuf_fini(&why);
    if (status != HALLEY_OK)
        return status;
    assert(plugin->start != NULL && plugin->meet != NULL);
    *out = plugin;
    return HALLEY_OK;
}
