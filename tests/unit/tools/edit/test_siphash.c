/* The keyed hash behind pseudonyms. */
#include "edit/siphash.h"
#include "unit.h"

#include <string.h>

static siphash_key counting_key(void)
{
    uint8_t key[16];
    for (uint8_t i = 0; i < 16; i++)
        key[i] = i;
    return siphash_key_from(key);
}

/* The first vectors of the authors' reference: input 00, 00 01, ... of that length. */
static void tags_are_those_of_the_reference(void **state)
{
    (void)state;
    static const struct {
        size_t n;
        uint8_t tag[16];
    } rows[] = {
        {0,
         {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7,
          0x55, 0x02, 0x93}},
        {1,
         {0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b,
          0x22, 0xfc, 0x45}},
        {2,
         {0x81, 0x77, 0x22, 0x8d, 0xa4, 0xa4, 0x5d, 0xc7, 0xfc, 0xa3, 0x8b, 0xde, 0xf6,
          0x0a, 0xff, 0xe4}},
    };
    uint8_t input[64];
    for (uint8_t i = 0; i < 64; i++)
        input[i] = i;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const siphash_tag tag = siphash(counting_key(), input, rows[r].n);
        for (unsigned i = 0; i < 16; i++)
            assert_int_equal((uint8_t)(tag.t[i / 8] >> (8 * (i % 8))), rows[r].tag[i]);
    }
}

static void one_bit_of_key_or_text_changes_half_of_the_tag(void **state)
{
    (void)state;
    const siphash_key key = counting_key();
    char text[] = "aten::linear_backward_of_block_17";
    const siphash_tag before = siphash(key, text, sizeof text - 1);
    for (size_t i = 0; i < sizeof text - 1; i++) {
        text[i] ^= 1;
        const siphash_tag after = siphash(key, text, sizeof text - 1);
        const int changed = __builtin_popcountll(before.t[0] ^ after.t[0]) +
                            __builtin_popcountll(before.t[1] ^ after.t[1]);
        assert_in_range(changed, 34, 94);
        text[i] ^= 1;
    }
    siphash_key other = key;
    other.k[1] ^= 1;
    assert_int_not_equal(siphash(other, text, 8).t[0], siphash(key, text, 8).t[0]);
    assert_int_not_equal(siphash_mix(key, 1, 2), siphash_mix(key, 2, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_are_those_of_the_reference),
        cmocka_unit_test(one_bit_of_key_or_text_changes_half_of_the_tag),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
