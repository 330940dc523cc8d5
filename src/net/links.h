/* net/links.h - the link-queue half of net/net.h; not for use outside this folder. */
#ifndef NET_LINKS_H
#define NET_LINKS_H

#include "net/net.h"

halley_status net_links_init(net *n, halley_error *err);
void net_links_send(net *n, uint32_t from, uint32_t to, uint64_t bytes, uint64_t what);
void net_links_send_up(net *n, uint32_t from, uint32_t dim, uint64_t bytes,
                       uint64_t what);
void net_links_send_down(net *n, uint32_t to, uint32_t dim, uint64_t bytes,
                         uint64_t what);
void net_links_handle(net *n, uint64_t what);

#endif
