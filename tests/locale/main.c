/*
 * A host of the library with a decimal comma: the program itself, but for its first two
 * lines. Messages stay English, so that what the C library says stays the same, too.
 */
#include "cli/commands.h"

#include <locale.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL || setlocale(LC_MESSAGES, "C") == NULL ||
        localeconv()->decimal_point[0] != ',') {
        fprintf(stderr, "the locale de_DE.UTF-8 is not installed\n");
        return 77;
    }
    return cli_start(argc, argv);
}
