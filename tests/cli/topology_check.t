# halley topology check: networks that can be built, and those that cannot.

## a sound network
$ printf '{topology: dragonfly, p: 4, a: 8, h: 4, G: 33}' > d.yaml && halley topology check d.yaml
> d.yaml: dragonfly of 1056 NPUs, 264 switches and 2508 cables, connected

## a network that is not connected
$ printf 'topology: edges\nnpus: 4\nedges: [[0, 1], [2, 3]]\n' > bad.yaml && halley topology check bad.yaml
! halley: bad.yaml: the network is not connected: npu0 cannot reach npu2; 2 of 4 devices are cut off
? 1

## a link to a device that does not exist
$ printf 'topology: edges\nnpus: 2\nedges:\n  - [npu0, npu1]\n  - [npu1, leaf7]\n' > bad.yaml && halley topology check bad.yaml
! halley: bad.yaml:5:12: the edge leads to leaf7, which is no device; devices are npu0 ..., and those of the keys switches and devices
? 1

## zero and negative bandwidth
$ printf 'topology: edges\nnpus: 2\nedges:\n  - [0, 1, 0 GB/s]\n' > bad.yaml && halley topology check bad.yaml
! halley: bad.yaml:4:5: bandwidth must be positive, is 0 B/s
? 1
$ printf 'topology: ring\nn: 4\nlink: -5 GB/s\n' > bad.yaml && halley topology check bad.yaml
! halley: bad.yaml:3:7: link must be positive, is -5 GB/s
? 1

## two NPUs with one id
$ printf 'topology: edges\ndevices:\n  - {name: a, kind: npu, id: 0}\n  - {name: b, kind: npu, id: 0}\nedges: [[a, b]]\n' > bad.yaml && halley topology check bad.yaml
! halley: bad.yaml:4:5: two NPUs have id 0: a and b
? 1

## sizes that do not multiply
$ printf '{topology: fat-tree, n: 100, tiers: [{npus: 16}, {name: core}]}' > bad.yaml && halley topology check bad.yaml
! halley: bad.yaml: tier core: 100 NPUs are not a multiple of the 16 NPUs under each block of the tier below
? 1

## ports that cannot be split name the nearest that can
$ printf '{topology: fat-tree, tiers: [{radix: 64, oversubscription: 2}, {radix: 64}]}' > bad.yaml && halley topology check bad.yaml
! halley: bad.yaml: tier leaf: 64 ports cannot be split 2:1 into whole ports; the nearest are 42 down and 22 up (oversubscription 1.90909) or 43 and 21 (2.04762)
? 1

## unknown topologies and keys
$ printf '{topology: rinq, n: 4}' > bad.yaml && halley topology check bad.yaml
! halley: bad.yaml: unknown topology "rinq"; did you mean ring?
? 1
$ printf 'topology: ring\nn: 4\nspines: 2\n' > bad.yaml && halley topology check bad.yaml
! halley: bad.yaml:3:9: ring takes no key "spines"; its keys are n, link, latency, cost and power
? 1
$ printf 'topology: ring\nn: 4\nlinc: 5 GB/s\n' > bad.yaml && halley topology check bad.yaml
! halley: bad.yaml:3:1: unknown key "linc"; did you mean "link"?
? 1

## a file that is cut
$ printf '{"topology": "edges", "npus": 2, "edges": [[0, 1' > bad.json && halley topology check bad.json
! halley: bad.json:1:49: not valid JSON: the file ends inside a value; it is cut
? 1

## a million cables and more than the limit
$ printf '{topology: fully-connected, n: 1500}' > big.yaml && halley topology check big.yaml
> big.yaml: fully-connected of 1500 NPUs, 0 switches and 1124250 cables, connected
$ printf '{topology: fully-connected, n: 4000000000}' > bad.yaml && halley topology check bad.yaml
! halley: bad.yaml: the network is too large to build: 4e+09 devices and 8e+18 cables, at most 16777216 and 33554432 are supported
? 1

## a million cables are read
$ awk 'BEGIN { print 100100, 100, 1000000; for (i = 0; i < 100; i++) printf "%d ", 100000 + i; print ""; for (i = 0; i < 1000000; i++) print i % 100000, 100000 + (int(i / 100000) + i) % 100, "400Gbps 0.0005ms 0" }' > big.txt; halley topology check big.txt
> big.txt: ns3 of 100000 NPUs, 100 switches and 1000000 cables, connected

## presets, cluster files of another size, the short form of a file
$ halley topology check dgx-h100:64
> dgx-h100:64: rails of 64 NPUs, 16 switches and 128 cables, connected
$ printf 'npu: h100-sxm-80gb\nnodes: {npus: 8, up: nvlink4-h100}\nnetwork: {topology: fat-tree, link: 400 Gb/s, tiers: [{name: leaf, npus: 16}, {name: spine}]}\n' > my.yaml; halley topology check my.yaml:128
> my.yaml:128: fat-tree of 128 NPUs, 40 switches and 384 cables, connected
$ printf '2 0 1\n\n0 1 400Gbps 500ns 0\n' > f.txt; printf 'network: {file: f.txt}\n' > g.yaml; halley topology check g.yaml
> g.yaml: ns3 of 2 NPUs, 0 switches and 1 cables, connected
$ halley topology check dgx-h100
! halley: dgx-h100: the cluster has no number of NPUs, so its network has no size; write NAME:N
? 1
$ halley topology check dgx-h200x:8
! halley: no cluster "dgx-h200x"; did you mean dgx-h200?
? 1
