# halley topology convert: networks in the formats of other tools.

## a generated network as ns-3 text, and back
$ printf '{topology: leaf-spine, npus: 2, leaves: 2, spines: 1, link: 400 Gb/s, latency: 500 ns}' > ls.yaml
$ halley topology convert ls.yaml --to ns3 -o ls.txt && cat ls.txt
> 7 3 6
> 4 5 6
> 0 4 400Gbps 500ns 0
> 1 4 400Gbps 500ns 0
> 2 5 400Gbps 500ns 0
> 3 5 400Gbps 500ns 0
> 4 6 400Gbps 500ns 0
> 5 6 400Gbps 500ns 0
$ halley topology check ls.txt
> ls.txt: ns3 of 4 NPUs, 3 switches and 6 cables, connected

## every format that is written is recognised when it is read
$ printf '{topology: leaf-spine, npus: 2, leaves: 2, spines: 1, link: 400 Gb/s, latency: 500 ns}' > ls.yaml && halley topology convert ls.yaml -o ls.txt
$ for f in infragraph node-link simgrid htsim; do halley topology convert ls.txt --to $f -o again && halley topology check again; done
> again: infragraph of 4 NPUs, 3 switches and 6 cables, connected
> again: node-link of 4 NPUs, 3 switches and 6 cables, connected
> again: simgrid of 4 NPUs, 3 switches and 6 cables, connected
> again: htsim of 4 NPUs, 3 switches and 6 cables, connected

## a compressed file
$ printf '{topology: leaf-spine, npus: 2, leaves: 2, spines: 1, link: 400 Gb/s, latency: 500 ns}' > ls.yaml && halley topology convert ls.yaml -o ls.txt
$ gzip -c ls.txt > ls.gz && halley topology check ls.gz
> ls.gz: ns3 of 4 NPUs, 3 switches and 6 cables, connected

## rates that the file does not state are asked for
$ printf 'SwitchName=s Nodes=n[1-2]\n' > topology.conf
$ halley topology convert topology.conf --to simgrid; echo $?
> 1
! halley: SimGrid needs a rate and a latency for every link, and those of s-n1 are unknown; give them with --link switch-host=RATE,LATENCY [unsupported]

## what another format cannot hold is refused
$ printf '{topology: ring, n: 4}' > ring.yaml && halley topology convert ring.yaml --to htsim
! halley: htsim knows fat trees only, and this network has not 2 or 3 tiers of switches [unsupported]
? 1

## broken files: the place, and a code word
$ printf '2 0 1\n\n0 7 400Gbps 500ns 0\n' > bad.txt && halley topology check bad.txt; echo $?
> 1
! halley: bad.txt:3: a link leads to node 7: the file has nodes 0 to 1 [dangling-link]
$ printf '{"nodes": [{"id": 1}, {"id": 2}], "edges": []}' > islands.json && halley topology check islands.json; echo $?
> 1
! halley: islands.json: the network is not connected: 1 cannot reach 2

## cables beside one-way links stay cables in node-link JSON; ns-3 text needs links
$ printf '<platform version="4.1"><zone id="z" routing="Full"><host id="a" speed="1Gf"/><host id="b" speed="1Gf"/><host id="c" speed="1Gf"/><link id="l" bandwidth="1GBps" latency="1us" sharing_policy="SPLITDUPLEX"/><link id="m" bandwidth="2GBps" latency="1us"/><route src="a" dst="b"><link_ctn id="l"/></route><route src="b" dst="c" symmetrical="NO"><link_ctn id="m"/></route></zone></platform>' > p.xml
$ halley topology convert p.xml --to node-link -o p.json && for f in p.xml p.json; do halley topology show $f --json | query - /links /one_way_links /rates_gbps; done
> 1
> 1
> {"8": 1, "16": 1}
> 1
> 1
> {"8": 1, "16": 1}
$ printf '<platform version="4.1"><zone id="z" routing="None"><host id="a" speed="1Gf"/><host id="b" speed="1Gf"/></zone></platform>' > n.xml; halley topology convert n.xml --to ns3
! halley: ns-3 text cannot hold a network without links [unsupported]
? 1

## a network of another tool is a cluster for sim
$ printf '5 1 4\n4\n0 4 100Gbps 1us 0\n1 4 100Gbps 1us 0\n2 4 100Gbps 1us 0\n3 4 100Gbps 1us 0\n' > n.txt && halley trace gen all-reduce -n 4 --size '1 MiB' -o ar > said
$ printf 'network: {topology: file, file: n.txt}' > c.yaml; mkdir d && cp n.txt d && halley topology convert n.txt -o d/n.json
$ for c in c.yaml n.txt d/n.txt d/n.json; do halley sim ar -c $c | head -1; done
> 152 us on 4 ranks
> 152 us on 4 ranks
> 152 us on 4 ranks
> 152 us on 4 ranks
$ halley estimate -m llama3-8b -c n.txt
! halley: cluster "cluster" does not say the peak of its NPU: an estimate needs npu, the name of a preset or a map with peak: {bf16: ...}
? 1
