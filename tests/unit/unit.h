/* unit.h - what every test program includes: cmocka and the headers it wants before it. */
#ifndef UNIT_H
#define UNIT_H

/* clang-format off: cmocka.h does not include what it needs */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#endif
