/* net/models.h - the rows of net_models; net.h explains how to add one. */
#ifndef NET_MODELS_H
#define NET_MODELS_H

#include "net/net.h"

extern const net_model net_model_unaware, net_model_aware, net_model_free,
    net_model_queue, net_model_flow;

#endif
