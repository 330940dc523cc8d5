/*
 * The saved state of training: parameters, the best ones so far, the moments of Adam,
 * the order of the programs and the position in it. The file begins with a key of what
 * is trained and how, and ends with a hash. A file that does not match is ignored.
 */
#include "learn/neural/neural_state.h"

#include "base/file/file.h"
#include "base/hash.h"

#include <assert.h>
#include <string.h>

typedef struct piece {
    void *at;
    size_t n; /* bytes */
} piece;
enum { PIECES = 6 };

static void pieces_of(piece to[PIECES], const neural_state *s)
{
    const size_t n = s->n_params * sizeof(nn_real);
    const piece all[PIECES] = {{s->place, sizeof *s->place},
                               {s->param, n},
                               {s->best, n},
                               {s->mean, n},
                               {s->square, n},
                               {s->order, s->n_order * sizeof *s->order}};
    memcpy(to, all, sizeof all);
}

halley_status neural_state_save(const neural_state *s, const char *path,
                                halley_error *err)
{
    assert(path != NULL);
    piece pieces[PIECES];
    file_output *to;
    uint64_t hash = s->key;
    TRY(file_output_open(&to, path, err));
    pieces_of(pieces, s);
    file_output_write(to, &s->key, sizeof s->key);
    for (size_t i = 0; i < PIECES; i++) {
        hash = hash_bytes(pieces[i].at, pieces[i].n, hash);
        file_output_write(to, pieces[i].at, pieces[i].n);
    }
    file_output_write(to, &hash, sizeof hash);
    return file_output_commit_now(to, err);
}

/* True if the file belongs to this training and is complete. */
static bool fits_state(const neural_state *s, const piece *pieces, const file_input *in)
{
    size_t n = 2 * sizeof(uint64_t);
    uint64_t key, hash = s->key, wanted;
    for (size_t i = 0; i < PIECES; i++)
        n += pieces[i].n;
    if (in->n != n)
        return false;
    memcpy(&key, in->at, sizeof key);
    memcpy(&wanted, in->at + n - sizeof wanted, sizeof wanted);
    const uint8_t *at = in->at + sizeof key;
    for (size_t i = 0; i < PIECES; at += pieces[i++].n)
        hash = hash_bytes(at, pieces[i].n, hash);
    return key == s->key && hash == wanted;
}

bool neural_state_load(const neural_state *s, const char *path)
{
    assert(path != NULL);
    piece pieces[PIECES];
    file_input in;
    if (!file_exists(path) || file_input_open(&in, path, NULL) != HALLEY_OK)
        return false;
    pieces_of(pieces, s);
    const bool ok = fits_state(s, pieces, &in);
    const uint8_t *at = in.at + sizeof s->key;
    for (size_t i = 0; ok && i < PIECES; at += pieces[i++].n)
        if (pieces[i].n > 0)
            memcpy(pieces[i].at, at, pieces[i].n);
    file_input_close(&in);
    return ok;
}
