/* Open libmicrohttpd and find its functions. */
#include "serve/library.h"

#include <dlfcn.h>
#include <string.h>

serve_library serve_http;

static halley_status find_function(void *to, void *handle, const char *name,
                                   halley_error *err)
{
    void *const found = dlsym(handle, name);
    if (found == NULL)
        return error_set(err, HALLEY_EIO,
                         "this libmicrohttpd has no %s; version 0.9.71 is needed", name);
    memcpy(to, &found, sizeof found); /* POSIX allows this conversion */
    return HALLEY_OK;
}

halley_status serve_library_open(halley_error *err)
{
    static const char *const names[] = {"libmicrohttpd.so.12", "libmicrohttpd.so"};
    void *handle = NULL;
    for (size_t i = 0; handle == NULL && i < sizeof names / sizeof *names; i++)
        handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        return error_set(err, HALLEY_EIO,
                         "the web page needs libmicrohttpd, which is not installed "
                         "(Debian: libmicrohttpd12)");
#define FIND_MEMBER(name) TRY(find_function(&serve_http.name, handle, "MHD_" #name, err));
    SERVE_LIBRARY(FIND_MEMBER)
#undef FIND_MEMBER
    return HALLEY_OK;
}
