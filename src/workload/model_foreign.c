/* Names of models that come from files of other programs. */
#include "workload/model_file.h"

#include <stdio.h>
#include <string.h>

void workload_model_name(halley_model *model, const char *path)
{
    str name = str_from(path);
    while (name.n > 1 && name.at[name.n - 1] == '/')
        name.n--;
    const char *slash = memrchr(name.at, '/', name.n);
    if (slash != NULL && name.n > 1) {
        name.n -= (size_t)(slash + 1 - name.at);
        name.at = slash + 1;
    }
    snprintf(model->name, sizeof model->name, "%.*s", (int)(sizeof model->name - 1),
             name.at);
    if (name.n < sizeof model->name)
        model->name[name.n] = '\0';
}
