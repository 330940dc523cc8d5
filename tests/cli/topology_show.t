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
>   "all_reduce_1gb_s": 0.009382999999999999,
>   "all_to_all_1gb_s": 0.010004,
>   "all_reduce_method": "along all axes at once",
>   "all_to_all_method": "dimension order, ties split",
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
> all-reduce,"20.0 ms for 1 GB per NPU, along all axes at once"
> all-to-all,"10.0 ms for 1 GB per NPU, dimension order, ties split"
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

## a description itself, with times by size and a path that changes rails inside the node
$ halley topology show '{topology: rail-optimised, nodes: 4, npus: 4, nodes-per-leaf: 2, spines: 2, link: 50 GB/s, latency: 500 ns, node-link: 450 GB/s, node-latency: 250 ns}' --path 0,13 --size 1MB --size 1GB | tail -6
> oversubscription  tier 1: 1 : 1
> all-reduce        9.43 ms for 1 GB per NPU, one ring per NPU of a node
> all-to-all        15.0 ms for 1 GB per NPU, bound by npu0-leaf0
> of 1.00 MB        all-reduce 69.4 us, all-to-all 17.0 us
> of 1.00 GB        all-reduce 9.43 ms, all-to-all 15.0 ms
> path              npu0 - nvswitch0 - npu1 - leaf2 - spine0 - leaf3 - npu13, 2.50 us
$ halley topology show '{topology: rail-optimised, nodes: 4, npus: 4, nodes-per-leaf: 2, spines: 2}' --no-cuts --path 0,13 --no-pxn | tail -1
> path              npu0 - leaf0 - spine0 - leaf3 - npu13, 0 s

## the drawing: layers from below, boxes that represent several, lines that add up cables
$ printf '{topology: rail-optimised, nodes: 4, npus: 2, nodes-per-leaf: 2, spines: 2, cables: 3, link: 50 GB/s}' > r.yaml
$ halley topology show r.yaml --no-cuts --boxes 4 --rail 1 --path 1,7 --json | query - /drawing/layout /drawing/rails /drawing/node_cables /drawing/layers /drawing/boxes/4 /drawing/lines /drawing/path
> "layers"
> 2
> 8
> [{"name": "node", "n": 4, "per_box": 1, "first_box": 0, "n_boxes": 4}, {"name": "leaf", "n": 4, "per_box": 1, "first_box": 4, "n_boxes": 4}, {"name": "spine", "n": 2, "per_box": 1, "first_box": 8, "n_boxes": 2}]
> {"name": "leaf0", "kind": "switch", "layer": 1, "n": 1, "npus": 0, "rail": 0, "x": 0, "y": 1}
> [{"a": 0, "b": 4, "cables": 1, "gbps": 400}, {"a": 0, "b": 5, "cables": 1, "on_rail": 1, "gbps": 400}, {"a": 1, "b": 4, "cables": 1, "gbps": 400}, {"a": 1, "b": 5, "cables": 1, "on_rail": 1, "gbps": 400}, {"a": 2, "b": 6, "cables": 1, "gbps": 400}, {"a": 2, "b": 7, "cables": 1, "on_rail": 1, "gbps": 400}, {"a": 3, "b": 6, "cables": 1, "gbps": 400}, {"a": 3, "b": 7, "cables": 1, "on_rail": 1, "gbps": 400}, {"a": 4, "b": 8, "cables": 3, "gbps": 1200}, {"a": 4, "b": 9, "cables": 3, "gbps": 1200}, {"a": 5, "b": 8, "cables": 3, "on_rail": 3, "gbps": 1200}, {"a": 5, "b": 9, "cables": 3, "on_rail": 3, "gbps": 1200}, {"a": 6, "b": 8, "cables": 3, "gbps": 1200}, {"a": 6, "b": 9, "cables": 3, "gbps": 1200}, {"a": 7, "b": 8, "cables": 3, "on_rail": 3, "gbps": 1200}, {"a": 7, "b": 9, "cables": 3, "on_rail": 3, "gbps": 1200}]
> {"stops": [{"name": "npu1", "device": 1, "box": 0}, {"name": "leaf2", "device": 14, "box": 5}, {"name": "spine0", "device": 16, "box": 8}, {"name": "leaf3", "device": 15, "box": 7}, {"name": "npu7", "device": 7, "box": 3}], "latency_s": 0, "gbps": 400}
$ halley topology show r.yaml --no-cuts --boxes 2 --json | query - /drawing/layers/0/per_box /drawing/boxes/0/n /drawing/boxes/0/npus
> 2
> 2
> 4
$ halley topology show '{topology: torus, dims: [4, 4, 8]}' --no-cuts --boxes 4 --json | query - /drawing/layout /drawing/boxes/3
> "grid"
> {"name": "npu10", "kind": "npu", "layer": 0, "n": 32, "npus": 32, "x": 1, "y": 1}

## what a drawing cannot show is refused
$ halley topology show r.yaml --boxes 4
! halley: --boxes needs --json; --picture draws a file
! see 'halley topology show --help'
? 2
$ printf '{topology: ring, n: 4}' > r.yaml
$ halley topology show r.yaml --path 0,4
! halley: a path needs two NPUs of 0 to 3; asked for is 0 to 4
? 1
$ halley topology show r.yaml --path 0
! halley: --path: expected two NPUs, for example 0,63; is "0"
! see 'halley topology show --help'
? 2
$ halley topology show r.yaml --size 0MB
! halley: --size: a size must be positive, is 0MB
! see 'halley topology show --help'
? 2

## SimGrid's loopbacks are no cables, and what is not read is said
$ printf '<platform version="4.1"><zone id="z" routing="Full"><host id="a" speed="1Gf"/><host id="b" speed="1Gf"/><link id="l" bandwidth="1GBps" latency="1us"/><link id="loop" bandwidth="9GBps" latency="0" sharing_policy="FATPIPE"/><route src="a" dst="a"><link_ctn id="loop"/></route><route src="b" dst="b"><link_ctn id="loop"/></route><route src="a" dst="b"><link_ctn id="l"/></route><backbone id="bb" bandwidth="1GBps" latency="1us"/></zone></platform>' > p.xml
$ halley topology show p.xml --json | query - /links /rates_gbps /connected
> 1
> {"8": 1}
> true
! halley: 1 links are half duplex in SimGrid (SHARED) and read as full duplex
! halley: 2 loopbacks of hosts are not cables and are left out
! halley: 1 elements with links or routes are not read, the first <backbone>: cables are missing
$ sed 's/ sharing_policy="FATPIPE"//' p.xml > q.xml; halley topology show q.xml
! halley: q.xml:1: a link connects a with itself [self-loop]
? 1
$ sed 's/backbone/cabinet/' p.xml > r.xml; halley topology show r.xml
! halley: r.xml:1: <cabinet> is not read; use zones with hosts, routers and routes [unsupported]
? 1

## a file of nobody's network is refused with what can be done
$ printf 'graph {\n  a -- b;\n}\n' > g.dot; halley topology show g.dot
! halley: g.dot:1:1: a network must be a map, such as {topology: ring, n: 8}; halley topology convert --help lists the formats of other tools that are read
? 1
$ printf 'a b\n' > n.yml; halley topology show n.yml
! halley: n.yml:1:1: a network must be a map, such as {topology: ring, n: 8}; halley topology convert --help lists the formats of other tools that are read
? 1

## dimensions in one line, and ASTRA-sim's network file
$ printf 'topology: [ Ring, Switch ]\nnpus_count: [ 4, 2 ]\nbandwidth: [ 50.0, 25.0 ]\nlatency: [ 500.0, 700.0 ]\n' > n.yml; halley topology show n.yml | head -7; halley topology show 'Ring(4)_FC(2)_SW(8)@250_200_50 GB/s' | head -8; halley topology show 'Ring(4)_SV(2)'; halley trace gen all-reduce -n 8 --size '1 GB' -o ar > /dev/null; halley sim ar -c 'SW(8)@450 GB/s/link@700 ns' | head -1
> property    value
> topology    dims
> npu         8
> switch      4
> cables      16
> rates       8 x 26.8 GB/s
>             8 x 53.7 GB/s
> property    value
> topology    dims
> npu         64
> switch      8
> cables      160
> rates       64 x 50.0 GB/s
>             64 x 125 GB/s
>             32 x 200 GB/s
> 3.89 ms on 8 ranks
! halley: note: rates of the network are those of an NPU in each dimension; write 250_200_50 GB/s/link for those of a link
! halley: Ring(4)_SV(2): network "Ring(4)_SV(2)": "SV(2)" is no dimension; expected Ring, FC or SW with its size, for example Ring(4)_FC(2)_SW(8)
