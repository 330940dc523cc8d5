# halley topology list: the networks that halley builds.

## every topology has a sentence and an example
$ halley topology list --csv | head -3
> topology,description,example
> ring,"NPUs in a circle, each with a cable to the next","{topology: ring, n: 16, link: 50 GB/s, latency: 1 us}"
> torus,a grid with wrap-around in every dimension,"{topology: torus, dims: [8, 8], link: 100 GB/s, latency: 1 us}"

## the keys of a topology with their types and ranges, its own first
$ halley topology list --json | query - /topologies/0/topology /topologies/0/keys/0 /topologies/12/topology /topologies/12/keys/0
> "ring"
> {"key": "n", "type": "count", "least": 1, "most": 4294967295, "description": "number of NPUs"}
> "rail-optimised"
> {"key": "nic-link", "type": "bandwidth", "least": 1000, "most": 100000000000000, "description": "rate between an NPU and a NIC that it shares (default: link)"}

## every example builds, or can be counted
$ halley topology list --csv | tail -n +2 | grep -v '^file' | sed 's/^.*"{/{/; s/}"$/}/' > all; wc -l < all
> 19
$ while read -r one; do halley topology show --no-cuts "$one" > out 2> err || halley topology show --counts "$one" > out; test -s out || echo "$one"; done < all
