/*
 * base/number/number.h - doubles as decimal text and back, the same in every locale.
 *
 * printf and strtod use the decimal point of the process's locale. A host program that
 * calls setlocale() would thus change what the library writes and reads. All code in
 * halley uses the functions below instead; `tools/check BUILD numbers` looks for
 * exceptions.
 *
 * A writer returns its text by value, to be used inside one expression:
 *
 *     strbuf_printf(to, "<rect x=\"%s\" width=\"%7s\"/>", number_fixed(x, 1).at,
 *                   number_digits(width, 4).at);
 */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include "base/str.h"

#include <stdint.h>
#include <string.h>

enum {
    NUMBER_TEXT = 40,
    NUMBER_MAX_DECIMALS = 15, /* of number_fixed and number_signed */
    NUMBER_MAX_DIGITS = 32,   /* of number_digits and number_exponent */
};

typedef struct number_text {
    char at[NUMBER_TEXT]; /* terminated */
} number_text;

/* The fewest digits that read back as the same double, correctly rounded. Like %.15g, it
 * uses an exponent below 1e-4 and from 1e15 on (later if more digits are needed). All
 * writers give "nan", "inf" and "-inf" for non-finite values. */
number_text number_shortest(double value);
/* The same digits, formatted like Python's repr(): "1.0", "1e+16", "1e-05". */
number_text number_repr(double value);
/* As "%.*f", for numbers below 1e22; the shortest text above. */
number_text number_fixed(double value, int decimals);
/* As "%+.*f". */
number_text number_signed(double value, int decimals);
/* As "%.*g": that many significant digits, trailing zeros left off. */
number_text number_digits(double value, int digits);
/* As "%.*e": one digit and that many decimals. */
number_text number_exponent(double value, int decimals);

/*
 * Parse a text that is one decimal number: [sign] digits [. digits] [e [sign] digits],
 * with a digit before or after the point. Returns true and the nearest double (ties to
 * even). Returns false for other texts and for numbers beyond the largest double.
 * Hexadecimal, inf and nan are not accepted.
 */
bool number_read(str text, double *out);

/* True if the bits are equal: 0 and -0 differ, equal NaNs do not. */
static inline bool number_is_same(double a, double b)
{
    uint64_t a_bits, b_bits;
    memcpy(&a_bits, &a, sizeof a_bits);
    memcpy(&b_bits, &b, sizeof b_bits);
    return a_bits == b_bits;
}

#endif
