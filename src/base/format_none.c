/* base/format_none.c - the table of formats of a library of the core alone. */
#include "base/format.h"

const format_set *const format_sets[] = {NULL};
