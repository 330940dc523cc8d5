/*
 * topology/import/nccl.c - the inside of a node as described by the XML of NCCL and RCCL.
 *
 * <system> contains <cpu>s. These contain nested <pci> devices and <nic>s. GPUs among the
 * devices have <nvlink>, <xgmi> or <c2c>. Rates are those that NCCL itself uses (topo.h
 * and xml.h of NCCL): PCI by generation and width, NVLink and xGMI by architecture.
 * NVLinks to NVSwitch chips are added up into one switch, as in NCCL.
 */
#include "base/number/number.h"
#include "topology/import/draft.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A link of a GPU, stored until all devices are known. */
typedef struct gpu_link {
    const hw_xml *e, *gpu;
    uint32_t device, host, cpu;
} gpu_link;

/* All links from a GPU to another GPU or to the NVSwitch, added up. */
typedef struct gpu_pair {
    uint32_t from, to;
    double bw_Bps;
    bool done;
} gpu_pair;

typedef struct nccl_cpu {
    uint32_t device, host;
    double bw_Bps;
} nccl_cpu;

typedef struct nccl_reader {
    hw_draft *d;
    ARRAY(gpu_link) links;
    ARRAY(gpu_pair) pairs;
    ARRAY(nccl_cpu) cpus;
    intern hosts;
    intern chips; /* NVSwitch chips, by bus id */
    uint32_t nvswitch;
    uint32_t n_npus;
    bool has_fast_links;
} nccl_reader;

static bool read_nccl_whole(str text, int64_t *out)
{
    char copy[32], *end;
    if (text.n == 0 || text.n >= sizeof copy)
        return false;
    memcpy(copy, text.at, text.n);
    copy[text.n] = '\0';
    const bool is_hex = str_starts(text, STR("0x"));
    *out = strtoll(copy, &end, is_hex ? 16 : 10);
    return *end == '\0' && (isdigit((unsigned char)copy[0]) || copy[0] == '-');
}

/* Read an integer. If absent: `otherwise`, or an error if that is INT64_MIN. */
static halley_status get_whole(int64_t *out, nccl_reader *r, const hw_xml *e,
                               const char *key, int64_t otherwise)
{
    str text;
    *out = otherwise;
    if (!hw_xml_attribute(e, key, &text)) {
        if (otherwise != INT64_MIN)
            return HALLEY_OK;
        return hw_draft_fail(r->d, e->line, "missing-key", "<%.*s> has no %s",
                             STR_ARG(e->name), key);
    }
    if (read_nccl_whole(text, out) && *out<INT32_MAX && * out> INT32_MIN)
        return HALLEY_OK;
    return hw_draft_fail(r->d, e->line, "bad-number",
                         "<%.*s %s=\"%.*s\">: a whole number is expected",
                         STR_ARG(e->name), key, STR_ARG(text));
}

/* Gb/s of one lane, as NCCL counts. */
static double find_lane_rate(const hw_xml *e)
{
    static const double rates[][2] = {{2.5, 1.5}, {5, 3},   {8, 6},
                                      {16, 12},   {32, 24}, {64, 48}};
    str text, word;
    double speed;
    if (!hw_xml_attribute(e, "link_speed", &text) || !hw_next_word(&text, &word) ||
        !number_read(word, &speed))
        return 6;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (speed == rates[i][0])
            return rates[i][1];
    return 6;
}

static double find_nvlink_rate(int64_t sm) /* GB/s of one link */
{
    static const struct {
        int64_t sm;
        double rate;
    } rates[] = {{100, 40.1}, {90, 20.6}, {87, 20}, {86, 12},
                 {80, 20},    {70, 20},   {60, 18}};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (sm >= rates[i].sm)
            return rates[i].rate;
    return 20;
}

static double find_xgmi_rate(const hw_xml *gpu)
{
    static const char *const fast[] = {"940", "941", "942", "950"};
    str gcn = {"", 0};
    hw_xml_attribute(gpu, "gcn", &gcn);
    if (str_starts(gcn, STR("gfx")))
        gcn = (str){gcn.at + 3, gcn.n - 3};
    if (str_eq(gcn, STR("90a")))
        return 36;
    for (size_t i = 0; i < sizeof fast / sizeof *fast; i++)
        if (str_eq(gcn, str_from(fast[i])))
            return 48;
    return 24;
}

/* GB/s between the processors of a host. */
static halley_status find_cpu_rate(double *out, nccl_reader *r, const hw_xml *cpu)
{
    str arch = {"", 0}, vendor = {"", 0};
    int64_t model;
    hw_xml_attribute(cpu, "arch", &arch);
    hw_xml_attribute(cpu, "vendor", &vendor);
    TRY(get_whole(&model, r, cpu, "modelid", 0));
    *out = 5000;
    if (str_eq(arch, STR("ppc64")))
        *out = 32;
    else if (str_eq(arch, STR("arm64")))
        *out = 6;
    else if (str_eq(vendor, STR("GenuineIntel")))
        *out = model >= 0xCF ? 40 : model >= 0x8F ? 22 : model >= 0x55 ? 10 : 6;
    else if (str_eq(vendor, STR("AuthenticAMD")))
        *out = 16;
    return HALLEY_OK;
}

/* "h0/0000:07:00.0": the name of a device, in lower case; with the host if there are
 * several. */
static str make_bus_name(char *to, size_t size, uint32_t host, str bus)
{
    const int n =
        host == 0 ? snprintf(to, size, "%.*s", (int)(bus.n < 100 ? bus.n : 100), bus.at)
                  : snprintf(to, size, "host%u/%.*s", host,
                             (int)(bus.n < 100 ? bus.n : 100), bus.at);
    for (char *at = to; *at != '\0'; at++)
        *at = (char)tolower((unsigned char)*at);
    return (str){to, (size_t)n};
}

static bool is_link_tag(const hw_xml *e)
{
    return str_eq(e->name, STR("nvlink")) || str_eq(e->name, STR("xgmi")) ||
           str_eq(e->name, STR("c2c"));
}

static halley_status check_ports(nccl_reader *r, const hw_xml *nic)
{
    for (const hw_xml *net = nic->first; net != NULL; net = net->next) {
        int64_t speed, keep;
        str name = {"?", 1}, dev;
        if (!str_eq(net->name, STR("net")) || !hw_xml_attribute(net, "dev", &dev))
            continue;
        TRY(get_whole(&keep, r, net, "net", 1));
        TRY(get_whole(&speed, r, net, "speed", 0));
        hw_xml_attribute(net, "name", &name);
        if (keep != 0 && speed > 3200000)
            hw_draft_warn(r->d, "port %.*s: a speed of %lld Mb/s is not plausible",
                          STR_ARG(name), (long long)speed);
    }
    return HALLEY_OK;
}

typedef struct pci_place {
    uint32_t parent, host, cpu;
} pci_place;

static halley_status add_nccl_gpu(nccl_reader *r, const hw_xml *e, const pci_place *at,
                                  str name)
{
    const hw_xml *gpu = hw_xml_child(e, "gpu");
    uint32_t id, n = 0;
    int64_t rank = -1;
    TRY(hw_draft_add_device(&id, r->d, HW_DEVICE_NPU, name, e->line));
    r->n_npus++;
    if (gpu == NULL)
        return HALLEY_OK;
    TRY(get_whole(&rank, r, gpu, "rank", -1));
    if (rank >= 0)
        r->d->devices.at[id].order = (uint32_t)rank;
    for (const hw_xml *c = e->first; c != NULL; c = c->next)
        n += str_eq(c->name, STR("gpu"));
    if (n > 1)
        hw_draft_warn(r->d, "%.*s carries %u ranks", STR_ARG(name), n);
    for (const hw_xml *c = gpu->first; c != NULL; c = c->next)
        if (is_link_tag(c) &&
            !array_push(&r->links, (gpu_link){c, gpu, id, at->host, at->cpu}))
            return error_nomem(r->d->err);
    return HALLEY_OK;
}

static bool has_class(str class, const char *prefix)
{
    return str_starts(class, str_from(prefix));
}

static halley_status add_pci(nccl_reader *r, const hw_xml *e, const pci_place *at)
{
    str bus, class = {"", 0};
    char text[160];
    int64_t width;
    if (!hw_xml_attribute(e, "busid", &bus) || bus.n == 0)
        return hw_draft_fail(r->d, e->line, "missing-key", "<pci> has no busid");
    hw_xml_attribute(e, "class", &class);
    TRY(get_whole(&width, r, e, "link_width", 0));
    if (width < 0 || width > 64)
        return hw_draft_fail(r->d, e->line, "bad-number", "<pci link_width=\"%lld\">",
                             (long long)width);
    const double gbps = (double)(width == 0 ? 16 : width) * find_lane_rate(e);
    const str name = make_bus_name(text, sizeof text, at->host, bus);
    const hw_xml *nic = hw_xml_child(e, "nic");
    const bool is_leaf = hw_xml_child(e, "pci") == NULL;
    const bool gpu_class = has_class(class, "0x03") || has_class(class, "0x12");
    const uint32_t id = (uint32_t)r->d->devices.n;
    if (hw_xml_child(e, "gpu") != NULL || (gpu_class && nic == NULL && is_leaf)) {
        TRY(add_nccl_gpu(r, e, at, name));
    } else if (nic != NULL || (has_class(class, "0x02") && is_leaf)) {
        TRY(hw_draft_add_device(NULL, r->d, HW_DEVICE_NIC, name, e->line));
        if (nic != NULL)
            TRY(check_ports(r, nic));
    } else {
        TRY(hw_draft_add_device(NULL, r->d, HW_DEVICE_SWITCH, name, e->line));
        const pci_place inside = {id, at->host, at->cpu};
        for (const hw_xml *c = e->first; c != NULL; c = c->next)
            if (str_eq(c->name, STR("pci")))
                TRY(add_pci(r, c, &inside));
    }
    r->d->devices.at[id].node = at->host;
    return hw_draft_add_link(r->d,
                             &(hw_draft_link){.from = id,
                                              .to = at->parent,
                                              .bw_Bps = gbps * 1e9 / 8,
                                              .latency_s = HW_UNKNOWN},
                             e->line);
}

/* A NIC directly below a processor, for example a virtual one. */
static halley_status add_cpu_nic(nccl_reader *r, const hw_xml *e, const nccl_cpu *cpu)
{
    char name[200];
    const str of = hw_draft_name(r->d, cpu->device);
    snprintf(name, sizeof name, "%.*s-nic", (int)(of.n < 150 ? of.n : 150), of.at);
    if (hw_draft_find(r->d, str_from(name)) == HW_NONE) {
        uint32_t id;
        TRY(hw_draft_add_device(&id, r->d, HW_DEVICE_NIC, str_from(name), e->line));
        r->d->devices.at[id].node = cpu->host;
        TRY(hw_draft_add_link(
            r->d,
            &(hw_draft_link){
                .from = id, .to = cpu->device, .bw_Bps = 5000e9, .latency_s = HW_UNKNOWN},
            e->line));
    }
    return check_ports(r, e);
}

static halley_status add_cpu(nccl_reader *r, const hw_xml *e)
{
    str hash = STR("0x0");
    char bus[32], text[160];
    int64_t numa;
    nccl_cpu cpu;
    double rate;
    hw_xml_attribute(e, "host_hash", &hash);
    cpu.host = intern_add(&r->hosts, hash);
    if (cpu.host == HASH_NONE)
        return error_nomem(r->d->err);
    TRY(get_whole(&numa, r, e, "numaid", INT64_MIN));
    TRY(find_cpu_rate(&rate, r, e));
    cpu.bw_Bps = rate * 1e9;
    snprintf(bus, sizeof bus, "cpu%lld", (long long)numa);
    TRY(hw_draft_add_device(&cpu.device, r->d, HW_DEVICE_CPU,
                            make_bus_name(text, sizeof text, cpu.host, str_from(bus)),
                            e->line));
    r->d->devices.at[cpu.device].node = cpu.host;
    if (!array_push(&r->cpus, cpu))
        return error_nomem(r->d->err);
    const pci_place inside = {cpu.device, cpu.host, cpu.device};
    for (const hw_xml *c = e->first; c != NULL; c = c->next) {
        if (str_eq(c->name, STR("pci")))
            TRY(add_pci(r, c, &inside));
        else if (str_eq(c->name, STR("nic")))
            TRY(add_cpu_nic(r, c, &cpu));
    }
    return HALLEY_OK;
}

static halley_status join_cpus(nccl_reader *r)
{
    for (size_t i = 0; i < r->cpus.n; i++)
        for (size_t k = i + 1; k < r->cpus.n; k++)
            if (r->cpus.at[i].host == r->cpus.at[k].host)
                TRY(hw_draft_add_link(r->d,
                                      &(hw_draft_link){.from = r->cpus.at[i].device,
                                                       .to = r->cpus.at[k].device,
                                                       .bw_Bps = r->cpus.at[i].bw_Bps,
                                                       .latency_s = HW_UNKNOWN},
                                      0));
    return HALLEY_OK;
}

static halley_status add_pair(nccl_reader *r, uint32_t from, uint32_t to, double bw_Bps)
{
    for (size_t i = 0; i < r->pairs.n; i++)
        if (r->pairs.at[i].from == from && r->pairs.at[i].to == to) {
            r->pairs.at[i].bw_Bps += bw_Bps;
            return HALLEY_OK;
        }
    return array_push(&r->pairs, (gpu_pair){from, to, bw_Bps, false})
               ? HALLEY_OK
               : error_nomem(r->d->err);
}

static halley_status join_nvswitch(nccl_reader *r, const gpu_link *l, double bw_Bps)
{
    str target = {"?", 1};
    hw_xml_attribute(l->e, "target", &target);
    if (intern_add(&r->chips, target) == HASH_NONE)
        return error_nomem(r->d->err);
    if (r->nvswitch == HW_NONE) {
        TRY(hw_draft_add_device(&r->nvswitch, r->d, HW_DEVICE_SWITCH, STR("nvswitch"),
                                l->e->line));
        if (r->hosts.n == 1)
            r->d->devices.at[r->nvswitch].node = 0;
    }
    return add_pair(r, l->device, r->nvswitch, bw_Bps);
}

static halley_status join_gpu(nccl_reader *r, const gpu_link *l, double bw_Bps)
{
    str target;
    char text[160];
    if (!hw_xml_attribute(l->e, "target", &target))
        return hw_draft_fail(r->d, l->e->line, "missing-key", "<%.*s> has no target",
                             STR_ARG(l->e->name));
    const uint32_t to =
        hw_draft_find(r->d, make_bus_name(text, sizeof text, l->host, target));
    if (to == l->device) {
        hw_draft_warn(r->d, "%s has a link to itself; it is left out", text);
        return HALLEY_OK;
    }
    if (to == HW_NONE || r->d->devices.at[to].kind != HW_DEVICE_NPU)
        return hw_draft_fail(r->d, l->e->line, "dangling-link",
                             "%.*s has a link to %s, which is not a GPU here",
                             STR_ARG(hw_draft_name(r->d, l->device)), text);
    return add_pair(r, l->device, to, bw_Bps);
}

static halley_status join_gpu_link(nccl_reader *r, const gpu_link *l)
{
    int64_t count, rate, sm;
    str class = {"", 0};
    const bool is_c2c = str_eq(l->e->name, STR("c2c"));
    TRY(get_whole(&count, r, l->e, "count", INT64_MIN));
    if (count <= 0)
        return hw_draft_fail(r->d, l->e->line, "bad-rate", "<%.*s count=\"%lld\">",
                             STR_ARG(l->e->name), (long long)count);
    TRY(get_whole(&rate, r, l->e, "bw", is_c2c ? INT64_MIN : 0));
    TRY(get_whole(&sm, r, l->gpu, "sm", 0));
    hw_xml_attribute(l->e, "tclass", &class);
    const double per_link =
        str_eq(l->e->name, STR("xgmi")) ? find_xgmi_rate(l->gpu) : find_nvlink_rate(sm);
    const double bw_Bps =
        is_c2c ? (double)count * (double)rate * 1e6 : (double)count * per_link * 1e9;
    r->has_fast_links = true;
    if (is_c2c || str_eq(class, STR("0x068001")))
        return hw_draft_add_link(r->d,
                                 &(hw_draft_link){.from = l->device,
                                                  .to = l->cpu,
                                                  .bw_Bps = bw_Bps,
                                                  .latency_s = HW_UNKNOWN},
                                 l->e->line);
    if (has_class(class, "0x03") || has_class(class, "0x12"))
        return join_gpu(r, l, bw_Bps);
    return join_nvswitch(r, l, bw_Bps);
}

static gpu_pair *find_reverse(nccl_reader *r, const gpu_pair *pair)
{
    for (size_t i = 0; i < r->pairs.n; i++)
        if (r->pairs.at[i].from == pair->to && r->pairs.at[i].to == pair->from)
            return &r->pairs.at[i];
    return NULL;
}

/* Links between GPUs are listed at both ends; they are one cable. */
static halley_status add_nccl_pairs(nccl_reader *r)
{
    for (size_t i = 0; i < r->pairs.n; i++) {
        gpu_pair *pair = &r->pairs.at[i];
        gpu_pair *back = find_reverse(r, pair);
        hw_draft_link link = {.from = pair->from,
                              .to = pair->to,
                              .bw_Bps = pair->bw_Bps,
                              .latency_s = HW_UNKNOWN};
        if (pair->done)
            continue;
        link.one_way =
            pair->to != r->nvswitch && (back == NULL || back->bw_Bps != pair->bw_Bps);
        if (back != NULL && !link.one_way)
            back->done = true;
        if (back == NULL && link.one_way)
            hw_draft_warn(r->d,
                          "the link %.*s to %.*s has no partner in the other direction",
                          STR_ARG(hw_draft_name(r->d, pair->from)),
                          STR_ARG(hw_draft_name(r->d, pair->to)));
        TRY(hw_draft_add_link(r->d, &link, 0));
    }
    return HALLEY_OK;
}

static halley_status read_system(nccl_reader *r, const hw_xml *root)
{
    if (!str_eq(root->name, STR("system")))
        return hw_draft_fail(r->d, root->line, "bad-root", "<%.*s>; <system> is expected",
                             STR_ARG(root->name));
    for (const hw_xml *c = root->first; c != NULL; c = c->next)
        if (str_eq(c->name, STR("cpu")))
            TRY(add_cpu(r, c));
    if (r->cpus.n == 0)
        return hw_draft_fail(r->d, root->line, "missing-key", "no <cpu> in the file");
    TRY(join_cpus(r));
    for (size_t i = 0; i < r->links.n; i++)
        TRY(join_gpu_link(r, &r->links.at[i]));
    TRY(add_nccl_pairs(r));
    if (r->n_npus == 0)
        return hw_draft_fail(
            r->d, 0, "no-npu",
            "the file has no GPU; NCCL completes such files at run time, "
            "so dump the complete one with NCCL_TOPO_DUMP_FILE");
    if (!r->has_fast_links && r->n_npus > 1)
        hw_draft_warn(r->d, "the file has no NVLink or xGMI; NCCL adds them at run time");
    return HALLEY_OK;
}

static halley_status read_nccl(hw_draft *d)
{
    nccl_reader r = {.d = d, .nvswitch = HW_NONE};
    arena memory = {0};
    hw_xml *root;
    halley_status status = hw_xml_parse(&root, &memory, d);
    if (status == HALLEY_OK)
        status = read_system(&r, root);
    array_fini(&r.links);
    array_fini(&r.pairs);
    array_fini(&r.cpus);
    intern_fini(&r.hosts);
    intern_fini(&r.chips);
    arena_fini(&memory);
    return status;
}

const hw_import_format hw_import_nccl = {
    .row = {.name = "nccl",
            .doc = "XML of NCCL and RCCL (NCCL_TOPO_DUMP_FILE): the inside of a node",
            .read = hw_import_read},
    .read = read_nccl};
