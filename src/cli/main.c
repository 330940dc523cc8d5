#include "base/arena.h"
#include "cli/commands.h"

int main(int argc, char **argv)
{
    arena memory = {0};
    char **const words = cli_astra_words(&memory, &argc, argv);
    const int code = cli_main(&cli_halley, argc, words);
    arena_fini(&memory);
    return code;
}
