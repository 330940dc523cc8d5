/*
 * Run the inputs of a corpus through a fuzz target without libFuzzer: with any compiler,
 * and as part of the ordinary tests, what a fuzzer once found stays found.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

static int run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0)
        return -1;
    const long n = ftell(f);
    rewind(f);
    /* Exactly as long as the input, so that a read beyond it is seen by a sanitizer. */
    uint8_t *bytes = n < 0 ? NULL : malloc(n > 0 ? (size_t)n : 1);
    const int ok = bytes && fread(bytes, 1, (size_t)n, f) == (size_t)n;
    fclose(f);
    if (ok)
        LLVMFuzzerTestOneInput(bytes, (size_t)n);
    free(bytes);
    return ok ? 0 : -1;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    struct dirent **entries;
    const int n = scandir(argv[1], &entries, NULL, alphasort);
    if (n < 0) {
        perror(argv[1]);
        return 1;
    }
    int n_run = 0, n_failed = 0;
    for (int i = 0; i < n; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", argv[1], entries[i]->d_name);
        if (entries[i]->d_name[0] != '.') {
            printf("%s\n", entries[i]->d_name);
            fflush(stdout); /* the last name printed is the one that crashed */
            n_run++;
            n_failed += run_file(path) != 0;
        }
        free(entries[i]);
    }
    free(entries);
    printf("%d inputs, %d unreadable\n", n_run, n_failed);
    return n_run == 0 || n_failed ? 1 : 0;
}
