#include "base/file_temporary.h"

#include "base/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { NAME_KEPT = 200 }; /* of the target's name in the temporary one; NAME_MAX is 255 */

int file_temporary(char **out, const char *path, file_maker *make, void *context)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const size_t n_folder = (size_t)(name - path);
    int reason = EEXIST;
    *out = mem_array(n_folder + NAME_KEPT + 16, 1);
    if (*out == NULL)
        return ENOMEM;
    memcpy(*out, path, n_folder);
    for (int attempt = 0; reason == EEXIST && attempt < 100; attempt++) {
        uint32_t random = 0;
        if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
            random = (uint32_t)getpid() + (uint32_t)attempt;
        snprintf(*out + n_folder, NAME_KEPT + 16, ".%.*s.%06x", NAME_KEPT, name,
                 random & 0xffffff);
        reason = make(*out, context);
    }
    return reason;
}
