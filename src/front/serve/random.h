/* serve/random.h - tokens and names that cannot be guessed. */
#ifndef SERVE_RANDOM_H
#define SERVE_RANDOM_H

#include "serve/words.h"

/* 128 random bits from the system as hexadecimal digits; false if it provides none. */
bool serve_random_hex(char to[SERVE_TOKEN + 1]);

#endif
