/*
 * Hashing by folded multiplication. Two words are multiplied to 128 bits and the halves
 * are xor-ed, which spreads every input bit over the whole result in a few cycles. Three
 * independent lanes keep the multiplier busy on long inputs. The factors are xor-ed in
 * again, so that a factor of zero does not cancel the other one.
 */
#include "base/hash.h"

#include "base/array.h"

#include <assert.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

/* Fractional binary digits of sqrt(2), sqrt(3), sqrt(5) and sqrt(7), with the lowest bit
 * set. */
static const uint64_t k0 = 0x6a09e667f3bcc909, k1 = 0xbb67ae8584caa73b,
                      k2 = 0x3c6ef372fe94f82b, k3 = 0xa54ff53a5f1d36f1;

static uint64_t mix_words(uint64_t a, uint64_t b)
{
    const u128 product = (u128)a * b;
    return a ^ b ^ (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t load_word64(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static uint64_t load_word32(const uint8_t *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap32(word);
#endif
    return word;
}

/* The last 1 to 16 bytes as two words, by overlapping loads if necessary. */
static void load_tail(const uint8_t *at, size_t n, uint64_t *a, uint64_t *b)
{
    assert(n <= 16);
    if (n >= 8) {
        *a = load_word64(at);
        *b = load_word64(at + n - 8);
    } else if (n >= 4) {
        *a = load_word32(at);
        *b = load_word32(at + n - 4);
    } else {
        *a = n > 0 ? at[0] | (uint64_t)at[n / 2] << 8 | (uint64_t)at[n - 1] << 16 : 0;
        *b = 0;
    }
}

uint64_t hash_bytes(const void *bytes, size_t n, uint64_t seed)
{
    assert(bytes != NULL || n == 0);
    const uint8_t *at = bytes;
    const uint64_t length = n;
    uint64_t h = mix_words(seed ^ k0, k1);
    if (n > 48) {
        uint64_t h1 = h, h2 = h;
        do {
            h = mix_words(load_word64(at) ^ k1, load_word64(at + 8) ^ h);
            h1 = mix_words(load_word64(at + 16) ^ k2, load_word64(at + 24) ^ h1);
            h2 = mix_words(load_word64(at + 32) ^ k3, load_word64(at + 40) ^ h2);
            at += 48;
            n -= 48;
        } while (n > 48);
        h ^= mix_words(h1 ^ k2, h2);
    }
    while (n > 16) {
        h = mix_words(load_word64(at) ^ k1, load_word64(at + 8) ^ h);
        at += 16;
        n -= 16;
    }
    uint64_t a, b;
    load_tail(at, n, &a, &b);
    return mix_words(k2 ^ length, mix_words(a ^ k1, b ^ h));
}

uint64_t hash_u64(uint64_t x)
{
    x ^= x >> 32;
    x *= k0;
    x ^= x >> 29;
    x *= k1;
    return x ^ x >> 32;
}

static bool is_hash_digit(char c)
{
    return c >= '0' && c <= '9';
}

uint64_t hash_less_numbers(str name, uint64_t seed)
{
    for (size_t i = 0; i < name.n;) {
        const size_t start = i;
        const bool number = is_hash_digit(name.at[i]);
        while (i < name.n && is_hash_digit(name.at[i]) == number)
            i++;
        seed =
            number ? hash_u64(seed + '0') : hash_bytes(name.at + start, i - start, seed);
    }
    return seed;
}

static size_t slot_of(const map64 *m, uint64_t key)
{
    assert(m->n_slots > 0 && m->n < m->n_slots);
    size_t slot = hash_u64(key) & (m->n_slots - 1);
    while (m->values[slot] != HASH_NONE && m->keys[slot] != key)
        slot = (slot + 1) & (m->n_slots - 1);
    return slot;
}

static bool resize_table(map64 *m, size_t n_slots)
{
    assert((n_slots & (n_slots - 1)) == 0);
    assert(n_slots > m->n);
    map64 grown = {.n = m->n, .n_slots = n_slots};
    grown.keys = mem_array(n_slots, sizeof *grown.keys);
    grown.values = mem_array(n_slots, sizeof *grown.values);
    if (grown.keys == NULL || grown.values == NULL) {
        map64_fini(&grown);
        return false;
    }
    memset(grown.values, 0xff, n_slots * sizeof *grown.values);
    for (size_t i = 0; i < m->n_slots; i++) {
        if (m->values[i] == HASH_NONE)
            continue;
        const size_t slot = slot_of(&grown, m->keys[i]);
        grown.keys[slot] = m->keys[i];
        grown.values[slot] = m->values[i];
    }
    map64_fini(m);
    *m = grown;
    return true;
}

bool map64_reserve(map64 *m, size_t n)
{
    size_t n_slots = m->n_slots > 0 ? m->n_slots : 16;
    while (n_slots / 4 * 3 < n) {
        if (n_slots > SIZE_MAX / 32)
            return false;
        n_slots *= 2;
    }
    return n_slots == m->n_slots || resize_table(m, n_slots);
}

uint32_t map64_find(const map64 *m, uint64_t key)
{
    return m->n_slots == 0 ? HASH_NONE : m->values[slot_of(m, key)];
}

bool map64_put(map64 *m, uint64_t key, uint32_t *value, bool *fresh)
{
    assert(*value != HASH_NONE);
    assert(*value != HASH_NONE);
    if (!map64_reserve(m, m->n + 1))
        return false;
    const size_t slot = slot_of(m, key);
    *fresh = m->values[slot] == HASH_NONE;
    if (!*fresh) {
        *value = m->values[slot];
        return true;
    }
    m->keys[slot] = key;
    m->values[slot] = *value;
    m->n++;
    return true;
}

bool map64_set(map64 *m, uint64_t key, uint32_t value)
{
    assert(value != HASH_NONE);
    uint32_t stands = value;
    bool fresh;
    if (!map64_put(m, key, &stands, &fresh))
        return false;
    if (!fresh)
        m->values[slot_of(m, key)] = value;
    return true;
}

void map64_fini(map64 *m)
{
    free(m->keys);
    free(m->values);
    *m = (map64){0};
}
