#!/usr/bin/env python3
"""Turn preset and data files into one C table: embed.py OUT.c ROOT FILE..."""
import os
import sys


def array(data):
    """Bytes as a C initialiser of plain char, zero at the end, 24 a line."""
    values = [str(b if b < 128 else b - 256) for b in data] + ["0"]
    lines = [",".join(values[i:i + 24]) for i in range(0, len(values), 24)]
    return ",\n".join(lines)


def main():
    target, root, files = sys.argv[1], sys.argv[2], sorted(sys.argv[3:])
    with open(target, "w", encoding="ascii") as out:
        out.write("/* Made by tools/build/embed.py. */\n#include \"hw/embedded.h\"\n\n")
        for i, path in enumerate(files):
            with open(path, "rb") as f:
                out.write("static const char text_%d[] = {\n%s};\n" % (i, array(f.read())))
        out.write("\nconst cluster_embedded cluster_embedded_files[] = {\n")
        for i, path in enumerate(files):
            name = os.path.relpath(path, root)
            out.write('    {"%s", text_%d, sizeof text_%d - 1},\n' % (name, i, i))
        out.write("};\nconst size_t cluster_embedded_n = %d;\n" % len(files))


main()
