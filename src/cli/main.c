#include "cli/commands.h"

int main(int argc, char **argv)
{
    return cli_main(&cli_halley, argc, argv);
}
