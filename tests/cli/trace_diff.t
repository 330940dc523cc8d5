# halley trace diff: what differs, one line each, exit 1.

## equal traces
$ halley trace gen ring -n 2 -o r > made
$ halley trace diff r.0.et r.0.et
> no differences in 2 nodes

## one change, one line
$ halley trace gen all-reduce -n 2 --size 8 --repeat 2 -o a > made
! halley: note: --size 8 is 8 bytes; write '8 MiB' for mebibytes
$ halley trace gen all-reduce -n 2 --size 9 --repeat 2 -o b > made
! halley: note: --size 9 is 9 bytes; write '9 MiB' for mebibytes
$ halley trace diff a b
> rank 0: node 0: attribute "comm_size": 8 (int64_val) is now 9 (int64_val)
> rank 0: node 1: attribute "comm_size": 8 (int64_val) is now 9 (int64_val)
> 4 differences on 2 of 2 ranks: attrs 4; nodes: 4 changed, 0 gone, 0 new, 0 the same
? 1
$ halley trace diff -q a b
? 1
$ halley trace diff -i attrs a b
> no differences in 4 nodes
$ halley trace diff --csv a.0.et b.0.et
> kind,rank,node,sentence
> attrs,0,0,"attribute ""comm_size"": 8 (int64_val) is now 9 (int64_val)"
> attrs,0,1,"attribute ""comm_size"": 8 (int64_val) is now 9 (int64_val)"
? 1
$ halley trace diff --json a.0.et b.0.et
> {
>   "a": "a.0.et",
>   "b": "b.0.et",
>   "equal": false,
>   "differences": 2,
>   "by_kind": {
>     "ranks": 0,
>     "metadata": 0,
>     "nodes": 0,
>     "order": 0,
>     "type": 0,
>     "name": 0,
>     "time": 0,
>     "deps": 0,
>     "attrs": 2,
>     "io": 0,
>     "unknown": 0
>   },
>   "nodes_same": 0,
>   "nodes_changed": 2,
>   "nodes_gone": 0,
>   "nodes_new": 0,
>   "ranks_same": 0,
>   "ranks_changed": 1,
>   "findings": [
>     {"kind": "attrs", "rank": 0, "node": 0, "sentence": "attribute \"comm_size\": 8 (int64_val) is now 9 (int64_val)"},
>     {"kind": "attrs", "rank": 0, "node": 1, "sentence": "attribute \"comm_size\": 8 (int64_val) is now 9 (int64_val)"}
>   ]
> }
? 1

## nodes and ranks that one side has not
$ halley trace gen all-reduce -n 2 --repeat 2 -o a > made
$ halley trace gen all-reduce -n 3 --repeat 1 -o b > made
$ halley trace diff a b
> 2 ranks are now 3
> rank 0: node 1: COMM_COLL_NODE "ALL_REDUCE" is gone
> 3 differences on 2 of 2 ranks: ranks 1, nodes 2; nodes: 0 changed, 2 gone, 0 new, 2 the same
? 1

## an unknown kind is refused with the nearest
$ halley trace diff -i atrs a b
! halley: --ignore knows no 'atrs', did you mean 'attrs'?
! see 'halley trace diff --help'
? 2
