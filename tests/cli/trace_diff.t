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

## recordings are compared by what got slower
# Kernels of 8 us take twice as long in the copy: those of gelu and its backward alone.
$ gzip -dc $DATA/recordings/model.json.gz > a.json
$ halley trace diff a.json $DATA/recordings/model.json.gz 2> said
> no differences in 886 operators and kernels
$ sed 's/"dur": 8.0\([^0-9]\)/"dur": 16.0\1/g' a.json > b.json
$ halley trace diff a.json b.json 2> said
> Operator             In B  Runs A  Runs B   Host A   Host B  Device A  Device B    B - A
> aten::gelu           same      12      12  96.0 us  96.0 us   96.0 us    192 us  96.0 us
> aten::gelu_backward  same      12      12  96.0 us  96.0 us   96.0 us    192 us  96.0 us
> ... 15 more operators, which differ less; --all lists them
>
> Class            Kernels A  Kernels B  Device A  Device B   B - A
> elementwise             72         72    432 us    624 us  192 us
> attention               24         24    480 us    480 us     0 s
> comm.all_reduce         12         12    343 us    343 us     0 s
> embedding                3          3   30.0 us   30.0 us     0 s
> matmul                 147        147   4.44 ms   4.44 ms     0 s
> norm                    48         48    480 us    480 us     0 s
> optimizer                3          3    120 us    120 us     0 s
>
> Device +0.192 ms, host +0 ms from A to B; 886 operators and kernels aligned, 0 only in A, 0 only in B.
? 1
$ halley trace diff --by-id -q a.json b.json 2> said
? 1

## hip reads as cuda, and shapes may differ
$ gzip -dc $DATA/recordings/model.json.gz > a.json
$ sed 's/cudaLaunchKernel/hipLaunchKernel/g; s/<4, at::native/<8, at::native/g' a.json > b.json
$ halley trace diff a.json b.json 2> said
> no operator took longer or shorter
>
> Class            Kernels A  Kernels B  Device A  Device B  B - A
> attention               24         24    480 us    480 us    0 s
> comm.all_reduce         12         12    343 us    343 us    0 s
> elementwise             72         72    432 us    432 us    0 s
> embedding                3          3   30.0 us   30.0 us    0 s
> matmul                 147        147   4.44 ms   4.44 ms    0 s
> norm                    48         48    480 us    480 us    0 s
> optimizer                3          3    120 us    120 us    0 s
>
> Device +0 ms, host +0 ms from A to B; 886 operators and kernels aligned, 0 only in A, 0 only in B.
? 1

## an operator that runs other kernels is one row
$ k() { printf '{"schemaVersion":1,"traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::attend","pid":1,"tid":1,"ts":100,"dur":50,"args":{"External id":1}},{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":110,"dur":5,"args":{"correlation":7}},{"ph":"X","cat":"kernel","name":"%s","pid":0,"tid":7,"ts":130,"dur":%s,"args":{"correlation":7,"stream":7,"device":0}}]}' $1 $2; }; k flash_fwd_kernel 40 > a.json; k vectorized_elementwise_kernel 90 > b.json
$ halley trace diff --csv a.json b.json | grep attend
> aten::attend,aten::attend,1,1,4.5e-05,4.5e-05,4e-05,9e-05,5e-05
