/* Any bytes as a configuration file, YAML or JSON. */
#include "base/conf.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    conf_file file;
    halley_error err = {0};
    if (conf_parse(&file, (str){(const char *)at, n}, "input", &err) == HALLEY_OK)
        conf_fini(&file);
    return 0;
}
