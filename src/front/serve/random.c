/* Randomness from the kernel. */
#include "serve/random.h"

#include <stdint.h>
#include <sys/random.h>

bool serve_random_hex(char to[SERVE_TOKEN + 1])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[SERVE_TOKEN / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++) {
        to[2 * i] = digits[bytes[i] >> 4];
        to[2 * i + 1] = digits[bytes[i] & 15];
    }
    to[SERVE_TOKEN] = '\0';
    return true;
}
