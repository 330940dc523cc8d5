/*
 * halley/bill.h - what a cluster consists of, costs and draws: sums over things that are
 * counted (accelerators, hosts, switches, cables, memories, racks), whatever the size of
 * a scale-up domain.
 */
#ifndef HALLEY_BILL_H
#define HALLEY_BILL_H

#include "halley/cluster.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum halley_bill_item {
    HALLEY_BILL_NPUS,
    HALLEY_BILL_HOSTS,    /* processors, memory, board, chassis and fans */
    HALLEY_BILL_SCALE_UP, /* switches and optics inside scale-up domains */
    HALLEY_BILL_NETWORK,  /* network cards, switches and cables between hosts */
    HALLEY_BILL_MEMORY,   /* added to what NPUs and hosts contain */
    HALLEY_BILL_RACKS,
    HALLEY_BILL_BUILDING,
    HALLEY_N_BILL_ITEMS
} halley_bill_item;

/* How far a price is known. */
typedef enum halley_price_state {
    HALLEY_PRICE_KNOWN,
    HALLEY_PRICE_IMPUTED,     /* the device is not sold; its preset imputes a price */
    HALLEY_PRICE_LOWER_BOUND, /* a price that is needed is not known */
} halley_price_state;

typedef struct halley_bill {
    double n_npus; /* paid for: whole hosts, or whole domains if they are sold so */
    double n_hosts, n_racks, n_nics, n_switches, n_cables;
    double usd[HALLEY_N_BILL_ITEMS];   /* all 0 where the cluster is rented */
    double watts[HALLEY_N_BILL_ITEMS]; /* nameplate, without the building */
    double capital_usd;                /* sum of usd */
    double nameplate_w;                /* sum of watts, with the building's share (PUE) */
    halley_price_state state;
    uint32_t missing; /* bit 0: NPU; 1: host; 2 + i: memory i */
} halley_bill;

/* The bill of the whole hosts that `n_npus` NPUs of the cluster need. */
void halley_bill_make(halley_bill *out, const halley_cluster *cluster, double n_npus);
/* "npus", "hosts", "scale_up": keys of JSON; static. */
const char *halley_bill_key(halley_bill_item item);
/* Names of prices that are missing, such as "npu price, cxl price-per-gb"; "" if none.
 * Returns `to`. */
const char *halley_bill_missing(char *to, size_t size, const halley_cluster *cluster,
                                uint32_t missing);
/* "known", "imputed", "lower-bound"; static. */
const char *halley_price_state_name(halley_price_state state);
/* What an owner pays for one NPU for an hour. This is capital over its life with its
 * cost of capital, support, and energy at full load or the rate of a data centre. */
double halley_bill_own_usd_h(const halley_bill *bill, const halley_cluster *cluster);

#ifdef __cplusplus
}
#endif
#endif
