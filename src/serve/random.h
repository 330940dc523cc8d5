/* serve/random.h - tokens and names that nobody can guess. */
#ifndef SERVE_RANDOM_H
#define SERVE_RANDOM_H

#include "serve/words.h"

/* 128 bits of the system's randomness as hexadecimal letters; false: it has none. */
bool serve_random_hex(char to[SERVE_TOKEN + 1]);

#endif
