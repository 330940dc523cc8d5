/*
 * A network simulated by another program, coupled through two pipes. The other program
 * keeps the clock of the network; both take turns, so neither runs ahead. To it go lines
 *
 *   NPUS n                  once
 *   ADVANCE ps              its clock moves on; nothing ends before then
 *   SEND id from to bytes   a message starts at its clock
 *   END id                  that message has been delivered
 *   NEXT                    what ends first, if nothing else starts?
 *
 * and it answers each NEXT with "ps id", or NONE.
 *
 * Without arguments this program is its own other program: NPUs send at 25 GB/s, shared
 * fairly by the messages of one sender, and a message arrives 1 us later. With arguments
 * they are the command to run, such as an adapter to ns-3 or to your own simulator.
 *
 *   cc network_pipe.c $(pkg-config --cflags --libs halley) -o network_pipe
 *   ./network_pipe [COMMAND ARGUMENT...]
 */
#include <halley/halley.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- our side: a network model ---- */

typedef struct coupling {
    halley_network *run;
    FILE *to, *from;
    uint64_t asked_for; /* when we wanted to be woken last; others are out of date */
    int has_news;       /* something has started or ended since NEXT */
} coupling;

static halley_status open_coupling(void **state, halley_network *run, void *context,
                                   halley_error *err)
{
    coupling *c = context;
    (void)err;
    c->run = run;
    fprintf(c->to, "NPUS %" PRIu32 "\n", halley_network_npus(run));
    *state = c;
    return HALLEY_OK;
}

static void start_message(void *state, const halley_network_request *r)
{
    coupling *c = state;
    fprintf(c->to, "ADVANCE %" PRIu64 "\nSEND %" PRIu32 " %" PRIu32 " %" PRIu32 " %.0f\n",
            halley_network_now(c->run), r->id, r->from, r->to, r->bytes);
    c->has_news = 1;
}

/* What ends first? 1: an answer, 0: nothing is under way, -1: the other program failed.
 */
static int ask_next(coupling *c, uint64_t *at, uint32_t *id)
{
    char line[64];
    fprintf(c->to, "NEXT\n");
    if (fflush(c->to) != 0 || fgets(line, sizeof line, c->from) == NULL)
        return -1;
    if (strcmp(line, "NONE\n") == 0)
        return 0;
    return sscanf(line, "%" SCNu64 " %" SCNu32, at, id) == 2 ? 1 : -1;
}

/* All that starts at this instant has started: deliver what ends now, wait for the next.
 */
static void settle(void *state)
{
    coupling *c = state;
    uint64_t at;
    uint32_t id;
    if (!c->has_news)
        return;
    c->has_news = 0;
    const int found = ask_next(c, &at, &id);
    if (found < 0) {
        halley_network_fail(c->run, "the network simulator has ended or does not answer "
                                    "with a time and a message");
    } else if (found > 0) {
        c->asked_for = at;
        halley_network_wake(c->run, at, id);
    }
}

static void end_message(void *state, uint64_t word)
{
    coupling *c = state;
    const uint64_t now = halley_network_now(c->run);
    uint64_t at;
    uint32_t id;
    if (now != c->asked_for) /* something started meanwhile, and we asked again */
        return;
    (void)word;
    fprintf(c->to, "ADVANCE %" PRIu64 "\n", now);
    while (ask_next(c, &at, &id) == 1 && at == now) {
        fprintf(c->to, "END %" PRIu32 "\n", id);
        halley_network_arrive(c->run, id, now);
    }
    c->has_news = 1;
}

static const halley_network_ops pipe_model = {.name = "pipe",
                                              .open = open_coupling,
                                              .start = start_message,
                                              .event = end_message,
                                              .flush = settle};

/* ---- the other side: a network simulator of 60 lines ---- */

enum { MOST_MESSAGES = 4096 };
typedef struct message {
    uint32_t id, from;
    double left;      /* bytes */
    uint64_t arrives; /* 0: it is still being sent */
} message;

static message messages[MOST_MESSAGES];
static int n_messages;
static double clock_ps;

static double rate_of(const message *m) /* bytes per ps */
{
    int n = 0;
    for (int i = 0; i < n_messages; i++)
        n += messages[i].arrives == 0 && messages[i].from == m->from;
    return 25e9 / 1e12 / n;
}

/* When the next message has been sent; -1: none is being sent. */
static double next_change(void)
{
    double first = -1;
    for (int i = 0; i < n_messages; i++) {
        const double end = clock_ps + messages[i].left / rate_of(&messages[i]);
        if (messages[i].arrives == 0 && (first < 0 || end < first))
            first = end;
    }
    return first;
}

static void move_clock(double to)
{
    static double rates[MOST_MESSAGES];
    for (int i = 0; i < n_messages; i++)
        rates[i] = messages[i].arrives == 0 ? rate_of(&messages[i]) : 0;
    for (int i = 0; i < n_messages; i++) {
        message *m = &messages[i];
        m->left -= rates[i] * (to - clock_ps);
        if (m->arrives == 0 && m->left < 0.5)
            m->arrives = (uint64_t)to + 1000000;
    }
    clock_ps = to;
}

static void advance(double to)
{
    for (double change; (change = next_change()) >= 0 && change <= to;)
        move_clock(change);
    move_clock(to);
}

static void forget(uint32_t id)
{
    int n = 0;
    for (int i = 0; i < n_messages; i++)
        if (messages[i].id != id)
            messages[n++] = messages[i];
    n_messages = n;
}

/* The earliest arrival if nothing else starts: run ahead on a copy. */
static void answer_next(void)
{
    static message kept[MOST_MESSAGES];
    const int n = n_messages;
    const double now = clock_ps;
    int first = -1;
    memcpy(kept, messages, sizeof kept);
    for (double change; (change = next_change()) >= 0;)
        move_clock(change);
    for (int i = 0; i < n; i++)
        if (first < 0 || messages[i].arrives < messages[first].arrives)
            first = i;
    if (first < 0)
        printf("NONE\n");
    else
        printf("%" PRIu64 " %" PRIu32 "\n", messages[first].arrives, messages[first].id);
    fflush(stdout);
    memcpy(messages, kept, sizeof kept);
    n_messages = n;
    clock_ps = now;
}

static int simulate_network(void)
{
    char line[128];
    while (fgets(line, sizeof line, stdin) != NULL) {
        message m = {0};
        double to;
        if (sscanf(line, "ADVANCE %lf", &to) == 1)
            advance(to);
        else if (sscanf(line, "SEND %" SCNu32 " %" SCNu32 " %*u %lf", &m.id, &m.from,
                        &m.left) == 3 &&
                 n_messages < MOST_MESSAGES)
            messages[n_messages++] = m;
        else if (sscanf(line, "END %" SCNu32, &m.id) == 1)
            forget(m.id);
        else if (strcmp(line, "NEXT\n") == 0)
            answer_next();
    }
    return 0;
}

/* ---- both ---- */

static pid_t start_program(coupling *c, char **command)
{
    int there[2], back[2];
    if (pipe(there) != 0 || pipe(back) != 0)
        return -1;
    const pid_t child = fork();
    if (child == 0) {
        dup2(there[0], 0);
        dup2(back[1], 1);
        close(there[1]);
        close(back[0]);
        if (command[0] == NULL)
            exit(simulate_network());
        execvp(command[0], command);
        perror(command[0]);
        _exit(1);
    }
    close(there[0]);
    close(back[1]);
    c->to = fdopen(there[1], "w");
    c->from = fdopen(back[0], "r");
    return c->to != NULL && c->from != NULL ? child : -1;
}

static const char cluster_text[] = "npus: 4\nnetwork: [{topology: switch, size: 4, "
                                   "bandwidth: 50 GB/s, latency: 0.5 us}]\n";

static halley_status simulate(double *seconds, coupling *c, halley_error *err)
{
    const halley_sim_opts opts = {.network_ops = &pipe_model, .network_context = c};
    halley_gen *gen = NULL;
    halley_trace_set *traces = NULL;
    halley_cluster *cluster = NULL;
    halley_result *result = NULL;
    halley_status status = halley_gen_new(&gen, "all-reduce", 4, err);
    if (status == HALLEY_OK)
        status = halley_gen_set(gen, "size", "64 MB", err);
    if (status == HALLEY_OK)
        status = halley_gen_traces(&traces, gen, err);
    if (status == HALLEY_OK)
        status =
            halley_cluster_parse(&cluster, cluster_text, strlen(cluster_text), "4", err);
    if (status == HALLEY_OK)
        status = halley_sim_run(&result, traces, cluster, &opts, err);
    if (status == HALLEY_OK)
        *seconds = (double)halley_result_rank(result, 0).finish /
                   halley_result_ticks_per_s(result);
    halley_result_free(result);
    halley_cluster_free(cluster);
    if (traces != NULL)
        halley_trace_set_free(traces);
    if (gen != NULL)
        halley_gen_free(gen);
    return status;
}

int main(int argc, char **argv)
{
    halley_error err = {0};
    coupling c = {0};
    char sentence[2048];
    double seconds = 0;
    int code = 0;
    (void)argc;
    signal(SIGPIPE, SIG_IGN); /* an other program that ends is an error, not our end */
    const pid_t child = start_program(&c, argv + 1);
    if (child < 0) {
        perror("network_pipe");
        return 1;
    }
    if (simulate(&seconds, &c, &err) == HALLEY_OK) {
        printf("an all-reduce takes %.0f us on the simulator behind the pipe\n",
               1e6 * seconds);
    } else {
        fprintf(stderr, "%s\n", halley_error_format(&err, sentence, sizeof sentence));
        code = 1;
    }
    fclose(c.to);
    fclose(c.from);
    waitpid(child, NULL, 0);
    return code;
}
