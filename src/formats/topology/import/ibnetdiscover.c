/*
 * topology/import/ibnetdiscover.c - an InfiniBand fabric as printed by ibnetdiscover.
 *
 * Each block is one device: Switch, Ca or Rt with its ports. Every cable is listed at
 * both of its ends. The speed is the last "4xNDR" of a port's line. Adapters (Ca) become
 * NICs. The aggregation nodes of switches become devices of kind "other".
 */
#include "topology/import/draft.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

typedef struct ib_port {
    uint32_t device, number;
    str peer;
    uint32_t peer_number;
    double bw_Bps;
    uint32_t line;
    bool done;
} ib_port;

typedef struct ib_reader {
    hw_draft *d;
    ARRAY(ib_port) ports;
    map64 by_place; /* device << 32 | number to index in ports */
    uint32_t current, line;
} ib_reader;

/* Gb/s of one lane. */
static const struct ib_speed {
    const char *name;
    double gbps;
} speeds[] = {{"FDR10", 10}, {"SDR", 2.5}, {"DDR", 5},   {"QDR", 10}, {"FDR", 14},
              {"EDR", 25},   {"HDR", 50},  {"NDR", 100}, {"XDR", 200}};

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The last "4xNDR" of a text; HW_UNKNOWN: none. */
static double find_ib_speed(str text)
{
    double bw = HW_UNKNOWN;
    for (size_t i = 0; i < text.n; i++) {
        size_t digits = i;
        uint32_t lanes = 0;
        while (digits < text.n && isdigit((unsigned char)text.at[digits]) && lanes < 1000)
            lanes = lanes * 10 + (uint32_t)(text.at[digits++] - '0');
        if (digits == i || digits >= text.n || text.at[digits] != 'x')
            continue;
        const str rest = {text.at + digits + 1, text.n - digits - 1};
        for (size_t k = 0; k < sizeof speeds / sizeof *speeds; k++) {
            const str name = str_from(speeds[k].name);
            if (str_starts(rest, name) &&
                (rest.n == name.n || !is_name_char(rest.at[name.n]))) {
                bw = lanes * speeds[k].gbps * 1e9 / 8;
                break;
            }
        }
        i = digits;
    }
    return bw;
}

static bool take_char(str *s, char c)
{
    if (s->n == 0 || s->at[0] != c)
        return false;
    s->at++;
    s->n--;
    return true;
}

static void skip_ib_blanks(str *s)
{
    while (take_char(s, ' ') || take_char(s, '\t'))
        ;
}

/* "[12]" */
static bool take_index(str *s, uint32_t *out)
{
    uint32_t number = 0;
    if (!take_char(s, '[') || s->n == 0 || !isdigit((unsigned char)s->at[0]))
        return false;
    while (s->n > 0 && isdigit((unsigned char)s->at[0]) && number < 1000000) {
        number = number * 10 + (uint32_t)(s->at[0] - '0');
        s->at++;
        s->n--;
    }
    *out = number;
    return take_char(s, ']');
}

/* Take the text up to and including the closing character. */
static bool take_until(str *s, char close, str *inside)
{
    const char *end = s->n > 0 ? memchr(s->at, close, s->n) : NULL;
    if (end == NULL)
        return false;
    *inside = (str){s->at, (size_t)(end - s->at)};
    *s = (str){end + 1, s->n - inside->n - 1};
    return true;
}

static bool take_quoted(str *s, str *inside)
{
    return take_char(s, '"') && take_until(s, '"', inside) && inside->n > 0;
}

/* "(248a0703009c0196)", which may be absent. */
static bool skip_guid(str *s)
{
    str guid;
    return !take_char(s, '(') || take_until(s, ')', &guid);
}

/* Switch 40 "S-7cfe900300aa0001"  # "leaf1" ... */
static halley_status read_ib_device(ib_reader *r, str line, bool *matched)
{
    static const struct {
        const char *word;
        char letter;
        hw_device_kind kind;
    } rows[] = {{"Switch", 'S', HW_DEVICE_SWITCH},
                {"Ca", 'H', HW_DEVICE_NIC},
                {"Rt", 'R', HW_DEVICE_SWITCH}};
    str rest = line, word, count, id, text = {"", 0};
    uint64_t n;
    *matched = false;
    if (!hw_next_word(&rest, &word) || !hw_next_word(&rest, &count) ||
        !str_to_u64(count, &n))
        return HALLEY_OK;
    skip_ib_blanks(&rest);
    for (size_t i = 0; i < 3; i++) {
        if (!str_eq(word, str_from(rows[i].word)) || !take_quoted(&rest, &id))
            continue;
        *matched = true;
        skip_ib_blanks(&rest);
        if (take_char(&rest, '#')) {
            skip_ib_blanks(&rest);
            if (take_char(&rest, '"'))
                take_until(&rest, '"', &text);
        }
        const bool is_other =
            rows[i].kind == HW_DEVICE_NIC && str_contains(text, STR("Aggregation Node"));
        TRY(hw_draft_add_device(&r->current, r->d,
                                is_other ? HW_DEVICE_OTHER : rows[i].kind, id, r->line));
        if (id.at[0] != rows[i].letter)
            return hw_draft_fail(r->d, r->line, "bad-id",
                                 "%.*s: the id of a %s begins with %c", STR_ARG(id),
                                 rows[i].word, rows[i].letter);
        return HALLEY_OK;
    }
    return HALLEY_OK;
}

/* [1](guid)  "S-peer"[12](guid)  # "name" lid 4 4xHDR */
static bool parse_port(ib_port *port, str rest)
{
    str inside;
    if (!take_index(&rest, &port->number) || !skip_guid(&rest))
        return false;
    skip_ib_blanks(&rest);
    if (!take_quoted(&rest, &port->peer) || !take_index(&rest, &port->peer_number) ||
        !skip_guid(&rest))
        return false;
    if (str_starts(rest, STR("[ext ")) && !take_until(&rest, ']', &inside))
        return false;
    skip_ib_blanks(&rest);
    port->bw_Bps = HW_UNKNOWN;
    if (rest.n == 0)
        return true;
    if (!take_char(&rest, '#'))
        return false;
    port->bw_Bps = find_ib_speed(rest);
    return true;
}

static halley_status add_port(ib_reader *r, ib_port *port)
{
    if (r->current == HW_NONE)
        return hw_draft_fail(r->d, r->line, "bad-line",
                             "a port is outside of any device");
    port->device = r->current;
    port->line = r->line;
    uint32_t at = (uint32_t)r->ports.n;
    bool fresh;
    if (!map64_put(&r->by_place, (uint64_t)port->device << 32 | port->number, &at,
                   &fresh) ||
        (fresh && !array_push(&r->ports, *port)))
        return error_nomem(r->d->err);
    if (!fresh)
        return hw_draft_fail(r->d, r->line, "duplicate-id",
                             "port %u of %.*s is listed twice", port->number,
                             STR_ARG(hw_draft_name(r->d, port->device)));
    return HALLEY_OK;
}

/* Attribute lines such as vendid=0x2c9 contain no information about cables. */
static bool is_attribute_line(str line)
{
    static const char *const words[] = {"vendid",     "devid",       "sysimgguid",
                                        "switchguid", "caguid",      "rtguid",
                                        "ChassisNum", "chassisguid", "Chassis"};
    str rest = line, word;
    if (!hw_next_word(&rest, &word))
        return true;
    if (memchr(word.at, '=', word.n) != NULL)
        return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_starts(line, str_from(words[i])) &&
            (line.n == strlen(words[i]) || !is_name_char(line.at[strlen(words[i])])))
            return true;
    return false;
}

static halley_status read_ib_line(ib_reader *r, str line, bool is_whole)
{
    bool matched;
    ib_port port = {0};
    if (line.n > 0 && line.at[line.n - 1] == '\r')
        line.n--;
    if (str_trim(line).n == 0) {
        r->current = HW_NONE;
        return HALLEY_OK;
    }
    if (line.at[0] == '#')
        return HALLEY_OK;
    TRY(read_ib_device(r, line, &matched));
    if (matched)
        return HALLEY_OK;
    if (parse_port(&port, line))
        return add_port(r, &port);
    if (is_attribute_line(line))
        return HALLEY_OK;
    return hw_draft_fail(r->d, r->line, is_whole ? "bad-line" : "truncated",
                         "this is no line of ibnetdiscover: %.*s",
                         (int)(line.n < 40 ? line.n : 40), line.at);
}

static const ib_port *find_port(const ib_reader *r, uint32_t device, uint32_t number)
{
    const uint32_t at = map64_find(&r->by_place, (uint64_t)device << 32 | number);
    return at == HASH_NONE ? NULL : &r->ports.at[at];
}

static halley_status join_port(ib_reader *r, size_t i)
{
    ib_port *port = &r->ports.at[i];
    const uint32_t to = hw_draft_find(r->d, port->peer);
    const str name = hw_draft_name(r->d, port->device);
    const ib_port *back = find_port(r, to, port->peer_number);
    if (back == NULL)
        hw_draft_warn(r->d, "port %u of %.*s is not listed at the other end",
                      port->number, STR_ARG(name));
    else if (back->peer_number != port->number || !str_eq(back->peer, name))
        return hw_draft_fail(r->d, port->line, "dangling-link",
                             "port %u of %.*s leads to %.*s[%u], which leads elsewhere",
                             port->number, STR_ARG(name), STR_ARG(port->peer),
                             port->peer_number);
    if (back != NULL)
        r->ports.at[back - r->ports.at].done = true;
    if (to == port->device) {
        hw_draft_warn(r->d, "%.*s has a loop-back cable; it is left out", STR_ARG(name));
        return HALLEY_OK;
    }
    return hw_draft_add_link(r->d,
                             &(hw_draft_link){.from = port->device,
                                              .to = to,
                                              .bw_Bps = port->bw_Bps,
                                              .latency_s = HW_UNKNOWN},
                             port->line);
}

/* Cables between the same kinds of devices: their number, the best rate, and how many
 * have it. */
typedef struct sibling_count {
    double best_Bps;
    uint32_t n, n_best;
} sibling_count;

static sibling_count *
find_siblings(sibling_count table[HW_DEVICE_N_KINDS][HW_DEVICE_N_KINDS],
              const hw_draft *d, const hw_draft_link *l)
{
    const uint8_t a = d->devices.at[l->from].kind, b = d->devices.at[l->to].kind;
    return a < b ? &table[a][b] : &table[b][a];
}

/* Warn about cables that are slower than most cables of their kind. */
static void warn_slow_cables(hw_draft *d)
{
    sibling_count table[HW_DEVICE_N_KINDS][HW_DEVICE_N_KINDS] = {0};
    for (size_t i = 0; i < d->links.n; i++) {
        sibling_count *c = find_siblings(table, d, &d->links.at[i]);
        c->n_best = d->links.at[i].bw_Bps > c->best_Bps ? 0 : c->n_best;
        c->best_Bps = fmax(c->best_Bps, d->links.at[i].bw_Bps);
        c->n++;
        c->n_best += d->links.at[i].bw_Bps == c->best_Bps;
    }
    for (size_t i = 0; i < d->links.n; i++) {
        const hw_draft_link *l = &d->links.at[i];
        const sibling_count *c = find_siblings(table, d, l);
        if (2 * c->n_best > c->n && l->bw_Bps > 0 && l->bw_Bps < c->best_Bps)
            hw_draft_warn(d, "the cable %.*s - %.*s is slower than its siblings",
                          STR_ARG(hw_draft_name(d, l->from)),
                          STR_ARG(hw_draft_name(d, l->to)));
    }
}

static halley_status join_ports(ib_reader *r)
{
    for (size_t i = 0; i < r->ports.n; i++)
        if (hw_draft_find(r->d, r->ports.at[i].peer) == HW_NONE)
            return hw_draft_fail(r->d, r->ports.at[i].line, "dangling-link",
                                 "port %u of %.*s leads to %.*s, which is not described",
                                 r->ports.at[i].number,
                                 STR_ARG(hw_draft_name(r->d, r->ports.at[i].device)),
                                 STR_ARG(r->ports.at[i].peer));
    for (size_t i = 0; i < r->ports.n; i++)
        if (!r->ports.at[i].done)
            TRY(join_port(r, i));
    if (r->d->links.n == 0)
        return hw_draft_fail(r->d, 0, "no-links",
                             "no link in the file: dead ports are not listed, but a "
                             "fabric has links");
    warn_slow_cables(r->d);
    return HALLEY_OK;
}

static halley_status read_ib_lines(ib_reader *r)
{
    str rest = r->d->text, line;
    while (rest.n > 0) {
        str_next(&rest, '\n', &line);
        r->line++;
        TRY(read_ib_line(r, line, rest.at != NULL));
    }
    if (r->d->devices.n == 0)
        return hw_draft_fail(r->d, 0, "truncated", "no device in the file");
    return join_ports(r);
}

static halley_status read_ibnetdiscover(hw_draft *d)
{
    ib_reader r = {.d = d, .current = HW_NONE};
    const halley_status status = read_ib_lines(&r);
    array_fini(&r.ports);
    map64_fini(&r.by_place);
    return status;
}

const hw_import_format hw_import_ibnetdiscover = {
    .row = {.name = "ibnetdiscover",
            .doc = "an InfiniBand fabric as ibnetdiscover prints it",
            .read = hw_import_read},
    .read = read_ibnetdiscover};
