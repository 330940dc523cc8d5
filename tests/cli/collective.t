# halley collective: schedules synthesised for a network.

## a torus: the closed form and the schedule are at the bound
$ printf '{topology: torus, dims: [8, 8], link: 50 GB/s, latency: 500 ns}\n' > t.yaml; halley collective all-gather -c t.yaml --size '64 MiB'
> Algorithm                 Time  Lower bound  Of the bound  Bound by
> along all axes at once  334 us       330 us         1.012  bytes into an NPU
> synthesised             333 us       330 us         1.009  bytes into an NPU
$ halley collective all-reduce -c t.yaml --size '64 MiB' --csv
> algorithm,time_s,bound_s,bound_ratio,bound_by
> along all axes at once,0.00066860288,0.00066060288,1.012110150049603,bytes into all NPUs
> synthesised,0.00066684576,0.00066060288,1.0094502766927083,bytes into all NPUs

## a failed link: every NPU next to it receives through three links
$ printf '{topology: torus, dims: [4, 4], link: 50 GB/s, latency: 500 ns, failed: [npu0 - npu1]}\n' > f.yaml; halley collective all-gather -c f.yaml --size '16 MiB' --json
> {
>   "collective": "all-gather",
>   "npus": 16,
>   "size_bytes": 16777216,
>   "bound_s": 0.0001048576,
>   "bound_by": "bytes into an NPU",
>   "pieces": 2,
>   "n_moves": 480,
>   "algorithms": [
>     {
>       "algorithm": "synthesised",
>       "time_s": 0.0001053576,
>       "bound_ratio": 1.0047683715820312
>     }
>   ]
> }

## the moves as a table: each of 4 NPUs gets 3 chunks of the others
$ printf '{topology: ring, n: 4, link: 50 GB/s, latency: 1 us}\n' > r.yaml; halley collective all-gather -c r.yaml --size '4 B' -o m.csv; head -3 m.csv; tail -n +2 m.csv | wc -l
> Algorithm                  Time  Lower bound  Of the bound  Bound by
> along all axes at once  2.00 us      2.00 us             1  latency of the longest path
> synthesised             2.00 us      2.00 us             1  latency of the longest path
> start_s,end_s,from,to,chunk,sums
> 0.000000000000,0.000001000020,0,1,0,0
> 0.000000000000,0.000001000020,0,3,0,0
> 12
$ halley collective reduce-scatter -c r.yaml --size '4 B' -o s.csv; tail -1 s.csv
> Algorithm                  Time  Lower bound  Of the bound  Bound by
> along all axes at once  2.00 us      2.00 us             1  latency of the longest path
> synthesised             2.00 us      2.00 us             1  latency of the longest path
> 0.000001000020,0.000002000040,1,0,0,1

## other collectives are named, and a size is needed
$ halley collective all-to-all -c tpu-v4-pod:8 --size '1 MB'
! halley: no schedule of "all-to-all" can be synthesised; the collectives are all-gather, reduce-scatter and all-reduce
! see 'halley collective --help'
? 2
$ halley collective all-gather -c tpu-v4-pod:8
! halley: --size is missing
! see 'halley collective --help'
? 2

## a network in parts has no schedule
$ printf '{topology: edges, npus: 4, link: 50 GB/s, edges: [[0, 1], [2, 3]]}\n' > p.yaml; halley collective all-gather -c p.yaml --size '1 MB'
! halley: p.yaml: the network is not connected: npu0 cannot reach npu2; 2 of 4 devices are cut off
? 1
