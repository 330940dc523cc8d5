# halley topology show: what a network is made of.

## a fat tree by tiers, with cost and power
$ printf 'topology: fat-tree\nn: 1024\nlink: 400 Gb/s\nlatency: 500 ns\ntiers:\n  - {name: leaf, npus: 16}\n  - {name: spine, npus: 256, oversubscription: 2}\n  - {name: core}\ncost: {switch: 25000 USD, copper: 900 USD, optical: 1160 USD}\npower: {switch: 1500 W, optical: 10 W}\n' > ft.yaml
$ halley topology show ft.yaml
> property          value
> topology          fat-tree
> npu               1024
> switch            256
> cables            2560
> rates             2560 x 50.0 GB/s
> latencies         2560 x 500 ns
> diameter          6 links, 5.4721 on average
> injection         50.0 GB/s
> half cut          12.8 TB/s
> bisection         12.8 TB/s
> oversubscription  tier 1: 1 : 1
> oversubscription  tier 2: 2 : 1
> all-reduce        46.1 ms for 1 GB per NPU, one ring in NPU order
> all-to-all        30.0 ms for 1 GB per NPU, bound by spine0-core0
> cost              10.9 MUSD, 10630 USD per NPU
> power             415 kW, 405 W per NPU

## the network of a cluster file, as JSON
$ printf 'network: {topology: torus, dims: [4, 4], link: 50 GB/s, latency: 1 us}\n' > t.yaml
$ halley topology show t.yaml --json
> {
>   "topology": "torus",
>   "devices": {"npu": 16},
>   "dims": [4, 4],
>   "links": 32,
>   "one_way_links": 0,
>   "directed_links": 64,
>   "rates_gbps": {"400": 32},
>   "latencies_ns": {"1000": 32},
>   "components": 1,
>   "endpoint_kind": "npu",
>   "endpoints": 16,
>   "connected": true,
>   "diameter_hops": 4,
>   "hops_histogram": {"1": 64, "2": 96, "3": 64, "4": 16},
>   "mean_hops": 2.1333333333333333,
>   "injection_gbps_min_max": [1600, 1600],
>   "half_cut_gbps": 3200,
>   "bisection_gbps": 3200,
>   "oversubscription": {},
>   "all_reduce_1gb_s": 0.009387,
>   "all_to_all_1gb_s": 0.01067066666666667,
>   "all_to_all_busiest_link": "npu0-npu1",
>   "cost_usd": null,
>   "power_w": null
> }

## a ratio that gives no whole cables is rounded, and said
$ printf '{topology: fat-tree, n: 24576, tiers: [{name: tor, npus: 16}, {name: spine, npus: 3072, oversubscription: 7}, {name: core}]}' > meta.yaml
$ halley topology show --no-cuts meta.yaml | tail -1
> note              tier spine: 192 down at 7:1 is 27.4286 cables up; 28 cables of 48.9796 GB/s are used

## of an even torus the formula gives the bisection, of a small network all splits do
$ printf '{topology: dgx-1, link: 25 GB/s}' > dgx1.yaml && halley topology show dgx1.yaml | grep bisection
> bisection   150 GB/s

## csv, and two forms at once
$ printf '{topology: ring, n: 2}' > r.yaml && halley topology show --csv r.yaml
> name,value
> topology,ring
> npu,2
> cables,1
> rates,1 x 50.0 GB/s
> latencies,1 x 0 s
> diameter,"1 links, 1.0000 on average"
> injection,50.0 GB/s
> half cut,50.0 GB/s
> bisection,50.0 GB/s
> all-reduce,"20.0 ms for 1 GB per NPU, rings along all dimensions in both directions"
> collectives,unknown: not every NPU can reach npu0
$ halley topology show --csv --json r.yaml
! halley: --json and --csv exclude each other
! see 'halley topology show --help'
? 2

## the network of a preset: fabric and nodes together
$ halley topology show dgx-h100:16 --no-times
> property   value
> topology   rails
> npu        16
> switch     10
> cables     32
> rates      16 x 50.0 GB/s
>            16 x 450 GB/s
> latencies  16 x 3.58 us
>            16 x 6.20 us
> diameter   4 links, 2.9333 on average
> injection  500 GB/s
> half cut   400 GB/s
