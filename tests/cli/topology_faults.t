# halley topology: links and devices that are slow or have failed.

## half a link, a failed switch, a failed link
$ printf 'topology: leaf-spine\nnpus: 4\nleaves: 2\nspines: 2\nlink: 400 Gb/s\nlatency: 500 ns\n' > net.yaml
$ halley topology show net.yaml | grep -E 'half cut|all-to-all|note'
> half cut          100 GB/s
> all-to-all        20.0 ms for 1 GB per NPU, bound by spine1-leaf1
$ (cat net.yaml; echo 'links: [{between: leaf0 - spine0, bandwidth: x0.5}]') > slow.yaml && halley topology show slow.yaml | grep -E 'rates|x |half cut|all-to-all|note'
> rates             1 x 25.0 GB/s
>                   11 x 50.0 GB/s
> latencies         12 x 500 ns
> half cut          75.0 GB/s
> all-to-all        40.0 ms for 1 GB per NPU, bound by spine0-leaf0
> note              0 links (directed) have failed, 2 are slower than they should be
$ (cat net.yaml; echo 'failed: [spine1]') > down.yaml && halley topology show down.yaml | grep -E 'half cut|all-to-all|note'
> half cut          50.0 GB/s
> all-to-all        40.0 ms for 1 GB per NPU, bound by spine0-leaf1
> note              4 links (directed) have failed, 0 are slower than they should be
$ (cat net.yaml; echo 'links: [{between: [leaf*, spine1], bandwidth: 50 %, latency: 2 us}]') > many.yaml && halley topology show many.yaml | grep -E 'half cut|all-to-all|note'
> half cut          75.0 GB/s
> all-to-all        40.0 ms for 1 GB per NPU, bound by spine1-leaf1
> note              0 links (directed) have failed, 4 are slower than they should be
$ (cat net.yaml; echo 'failed: leaf1-spine0') > one.yaml && halley topology check one.yaml
> one.yaml: leaf-spine of 8 NPUs, 4 switches and 12 cables, connected

## who is cut off is named
$ printf 'topology: leaf-spine\nnpus: 4\nleaves: 2\nspines: 1\nfailed: [leaf1]\n' > cut.yaml && halley topology check cut.yaml
! halley: cut.yaml: the network is not connected: npu0 cannot reach npu4; 4 of 8 devices are cut off
? 1
$ printf 'topology: switch\nn: 4\nfailed: [npu2]\n' > npu.yaml && halley topology check npu.yaml
! halley: npu.yaml: the network is not connected: npu0 cannot reach npu2
? 1
$ printf 'topology: rail-only\nnodes: 4\nnpus: 2\nfailed: [leaf0]\n' > rail.yaml && halley topology show rail.yaml | grep -E 'diameter|note'
> diameter    6 links, 3.7143 on average
> note        8 links (directed) have failed, 0 are slower than they should be

## what cannot be
$ printf 'topology: switch\nn: 4\nfailed: [npu9]\n' > a.yaml && halley topology check a.yaml
! halley: a.yaml: there is no device or link "npu9" to degrade or fail; devices are npu0 to switch0, links are written npu0 - switch0
? 1
$ printf 'topology: ring\nn: 8\nlinks: [{between: npu0 - npu4, bandwidth: x0.5}]\n' > b.yaml && halley topology check b.yaml
! halley: b.yaml: no link joins npu0 - npu4
? 1
$ printf 'topology: ring\nn: 8\nlinks: [{between: npu0 - npu1, bandwidth: 0 Gb/s}]\n' > c.yaml && halley topology check c.yaml
! halley: c.yaml:3:9: bandwidth must be x0.5 (times what it was), 50 % or a rate such as 200 Gb/s, is "0 Gb/s"; a link that carries nothing is failed: yes
? 1
$ printf 'topology: ring\nn: 8\nlinks: [{between: npu0 - npu1, bandwidth: -3}]\n' > d.yaml && halley topology check d.yaml
! halley: d.yaml:3:9: bandwidth must be x0.5 (times what it was), 50 % or a rate such as 200 Gb/s, is "-3"; a link that carries nothing is failed: yes
? 1
$ printf 'topology: ring\nn: 8\nlinks: [{between: npu0 - npu1}]\n' > e.yaml && halley topology check e.yaml
! halley: e.yaml:3:9: an entry of links needs bandwidth, latency or failed: yes
? 1
$ printf 'topology: ring\nn: 8\nlinks: [{between: [npu0], failed: yes}]\n' > f.yaml && halley topology check f.yaml
! halley: f.yaml:3:19: between needs two devices, such as leaf0 - spine1 or [leaf0, spine1]
? 1

## a file of another tool as the network, its unknown rates given, a cable cut
$ printf '{"nodes": [{"id": "a", "kind": "gpu"}, {"id": "b", "kind": "gpu"}, {"id": "s", "kind": "switch"}], "edges": [{"source": "a", "target": "s"}, {"source": "s", "target": "b"}]}' > g.json
$ printf 'network: {topology: file, file: g.json, link: 200 Gb/s, latency: 1 us}\n' > h.yaml && halley topology show h.yaml | grep -E 'rates|latencies|half'
> rates       2 x 25.0 GB/s
> latencies   2 x 1.00 us
> half cut    25.0 GB/s
$ printf 'topology: file\nfile: g.json\nfailed: [a - s]\n' > i.yaml && halley topology check i.yaml
! halley: i.yaml: the network is not connected: a cannot reach b
? 1
$ printf 'topology: file\n' > j.yaml && halley topology check j.yaml
! halley: j.yaml: file needs the key file, the name of a topology file
? 1
$ printf 'topology: file\nfile: none.txt\n' > k.yaml && halley topology check k.yaml
! halley: none.txt: no such file
? 1

## a simulation on a network with faults: slower, or who is cut off
$ printf 'name: t\nnpus: 16\nnpu: h100-sxm-80gb\nnodes: {npus: 4, up: nvlink4-h100}\nnetwork: {topology: leaf-spine, npus: 8, leaves: 2, spines: 2, link: 400 Gb/s, latency: 700 ns}\n' > c.yaml && halley trace gen all-to-all -n 16 -o a > /dev/null
$ halley sim a -c c.yaml | head -1
> 68.6 us on 16 ranks
$ sed 's/700 ns/700 ns, failed: [spine1]/' c.yaml > d.yaml && halley sim a -c d.yaml | head -1
> 115 us on 16 ranks
$ sed 's/700 ns/700 ns, failed: [leaf1]/' c.yaml > e.yaml && halley sim a -c e.yaml
! halley: the network is not connected: npu0 cannot reach npu8; 8 of 16 devices are cut off
? 1
$ sed 's/leaf-spine.*spines: 2/rail-optimised, nodes-per-leaf: 2, spines: 2, failed: [leaf0]/' c.yaml > f.yaml && halley sim a -c f.yaml
! halley: there is no way from npu0 to npu4 with routing spray
? 1
