/*
 * The release of the library, compiled in so that a program can compare it with the
 * headers that it was built with.
 */
#include "halley/version.h"

const char *halley_version(void)
{
    return HALLEY_VERSION;
}

int halley_api(void)
{
    return HALLEY_API;
}
