/* unit.h - what every test program includes: cmocka and what it wants before it. */
#ifndef UNIT_H
#define UNIT_H

/* cmocka.h does not include what it needs. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#endif
