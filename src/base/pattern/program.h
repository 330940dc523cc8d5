/*
 * base/pattern/program.h - the program of a compiled expression. Private to this folder.
 */
#ifndef BASE_PATTERN_PROGRAM_H
#define BASE_PATTERN_PROGRAM_H

#include "base/array.h"
#include "base/pattern/pattern.h"

typedef enum pattern_op {
    PATTERN_BYTE,  /* a = the byte */
    PATTERN_CLASS, /* a = index into classes */
    PATTERN_START, /* the start of the text */
    PATTERN_END,   /* the end of the text */
    PATTERN_SPLIT, /* go on at pc + a and at pc + b */
    PATTERN_JUMP,  /* go on at pc + a */
    PATTERN_MATCH
} pattern_op;

/* Jumps are relative, so that a part of a program can be moved and copied. */
typedef struct pattern_step {
    uint16_t op;
    int16_t a, b;
} pattern_step;

typedef struct pattern_class {
    uint64_t bits[4];
} pattern_class;

static inline bool pattern_class_has(const pattern_class *c, uint8_t byte)
{
    return c->bits[byte / 64] >> (byte % 64) & 1;
}

enum {
    PATTERN_MOST_STEPS = 8192,
    PATTERN_MOST_REPEATS = 255,
    PATTERN_MOST_NESTED = 64,
};

typedef struct pattern_program {
    ARRAY(pattern_step) steps;
    ARRAY(pattern_class) classes;
} pattern_program;

halley_status pattern_program_compile(pattern_program *program, str expression,
                                      halley_error *err);
void pattern_program_fini(pattern_program *program);

#endif
