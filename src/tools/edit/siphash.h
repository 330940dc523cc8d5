/* edit/siphash.h - a keyed hash that reveals nothing about its input without the key. */
#ifndef EDIT_SIPHASH_H
#define EDIT_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct siphash_key {
    uint64_t k[2];
} siphash_key;
typedef struct siphash_tag {
    uint64_t t[2];
} siphash_tag;

/* Makes a key from 16 bytes, least significant first. */
siphash_key siphash_key_from(const uint8_t bytes[16]);
/* SipHash-2-4 with a 128-bit tag. */
siphash_tag siphash(siphash_key key, const void *at, size_t n);
/* 64 bits from two numbers, for decisions that only the key can reproduce. */
uint64_t siphash_mix(siphash_key key, uint64_t a, uint64_t b);

#endif
