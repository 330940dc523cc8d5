/*
 * SipHash-2-4 (Aumasson and Bernstein, 2012), the variant with 128 bits of output. Four
 * words are mixed twice for each eight bytes of input, and four times for each half of
 * the tag. Without the key, brute force is the best way to find the input, or another
 * input with the same tag. Names are few and short, so the key must be secret and
 * random.
 */
#include "edit/siphash.h"

#include <assert.h>

static uint64_t rotate_left(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

static void stir_state(uint64_t v[4], int rounds)
{
    assert(rounds > 0);
    for (int i = 0; i < rounds; i++) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate_left(v[1], 13) ^ v[0];
        v[3] = rotate_left(v[3], 16) ^ v[2];
        v[0] = rotate_left(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate_left(v[1], 17) ^ v[2];
        v[3] = rotate_left(v[3], 21) ^ v[0];
        v[2] = rotate_left(v[2], 32);
    }
}

static uint64_t load_word(const uint8_t *at, size_t n)
{
    assert(n <= 8);
    uint64_t x = 0;
    for (size_t i = 0; i < n; i++)
        x |= (uint64_t)at[i] << (8 * i);
    return x;
}

siphash_key siphash_key_from(const uint8_t bytes[16])
{
    return (siphash_key){{load_word(bytes, 8), load_word(bytes + 8, 8)}};
}

siphash_tag siphash(siphash_key key, const void *from, size_t n)
{
    assert(from != NULL || n == 0);
    const uint8_t *at = from;
    uint64_t v[4] = {
        key.k[0] ^ UINT64_C(0x736f6d6570736575),
        key.k[1] ^ UINT64_C(0x646f72616e646f6d) ^ 0xee,
        key.k[0] ^ UINT64_C(0x6c7967656e657261),
        key.k[1] ^ UINT64_C(0x7465646279746573),
    };
    const uint64_t last = (uint64_t)n << 56;
    for (; n >= 8; n -= 8, at += 8) {
        const uint64_t word = load_word(at, 8);
        v[3] ^= word;
        stir_state(v, 2);
        v[0] ^= word;
    }
    const uint64_t word = last | load_word(at, n);
    v[3] ^= word;
    stir_state(v, 2);
    v[0] ^= word;
    v[2] ^= 0xee;
    stir_state(v, 4);
    const uint64_t low = v[0] ^ v[1] ^ v[2] ^ v[3];
    v[1] ^= 0xdd;
    stir_state(v, 4);
    return (siphash_tag){{low, v[0] ^ v[1] ^ v[2] ^ v[3]}};
}

uint64_t siphash_mix(siphash_key key, uint64_t a, uint64_t b)
{
    uint8_t bytes[16];
    for (unsigned i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(a >> (8 * i));
        bytes[8 + i] = (uint8_t)(b >> (8 * i));
    }
    return siphash(key, bytes, sizeof bytes).t[0];
}
