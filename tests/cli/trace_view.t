# halley trace view: pictures of traces.

## a page is written beside, named after the trace
$ halley trace gen transformer -n 4 --tp 2 --layers 2 -o run > /dev/null
$ halley trace view run
> run.0.html: 66 nodes, 65 edges
$ halley trace view run --rank 3 -o three.svg
> three.svg: 66 nodes, 65 edges
$ head -1 three.svg
> <svg class="view" xmlns="http://www.w3.org/2000/svg" viewBox="{*}" width="{*}" height="{*}" role="img">
$ head -1 run.0.html
> <!DOCTYPE html>

## one file is drawn whatever its number
$ halley trace gen ring -n 4 -o r > /dev/null
$ mkdir set; cp r.*.et set; halley trace view r.3.et -f dot; halley trace view set -r 2 -f dot
> r.3.dot: 2 nodes, 0 edges
> r.2.dot: 2 nodes, 0 edges
$ halley trace view r.3.et --rank 3
! halley: r.3.et is one file, so there is no --rank to choose
! see 'halley trace view --help'
? 2

## SVG and GraphML are well-formed whatever the names
$ printf '{"version":"1.0.0"}\n{"id":"1","name":"a<b>&\\"c]]>","type":"COMP_NODE"}\n' > odd.json
$ halley trace view odd.json -o odd.svg && halley trace view odd.json -o odd.graphml
> odd.svg: 1 nodes, 0 edges
> odd.graphml: 1 nodes, 0 edges
$ query -x odd.svg odd.graphml

## the graph for other programs is whole
$ halley trace gen two_comp_nodes_dependent -n 1 -o two > /dev/null
$ halley trace view two -o two.dot && cat two.dot
> two.dot: 2 nodes, 1 edges
> digraph trace {
> 	node [style=filled fontname=sans];
> 	0 [label="COMP_NODE" shape=box fillcolor="#dceafb"]
> 	1 [label="COMP_NODE" shape=box fillcolor="#dceafb"]
> 	0 -> 1 [arrowhead=normal]
> }
$ halley trace view two -o - --form graphml
> <?xml version="1.0" encoding="utf-8"?>
> <graphml xmlns="http://graphml.graphdrawing.org/xmlns">
>   <key id="label" for="node" attr.name="label" attr.type="string"/>
>   <key id="type" for="node" attr.name="type" attr.type="string"/>
>   <key id="duration" for="node" attr.name="duration_us" attr.type="long"/>
>   <key id="bytes" for="node" attr.name="bytes" attr.type="long"/>
>   <key id="nodes" for="node" attr.name="nodes" attr.type="long"/>
>   <key id="dependency" for="edge" attr.name="dependency" attr.type="string"/>
>   <graph edgedefault="directed">
>     <node id="0"><data key="label">COMP_NODE</data><data key="type">COMP_NODE</data><data key="duration">5</data><data key="bytes">500000</data></node>
>     <node id="1"><data key="label">COMP_NODE</data><data key="type">COMP_NODE</data><data key="duration">5</data><data key="bytes">500000</data></node>
>     <edge source="0" target="1"><data key="dependency">data</data></edge>
>   </graph>
> </graphml>

## a part is chosen by node, distance, type and name
$ halley trace gen ring -n 4 --repeat 20 --compute '5 us' -o r > /dev/null
$ halley trace view r --from 3 --depth 2 -o a.svg
> a.svg: 60 nodes, 4 chosen, {*} edges
$ halley trace view r --type send --type recv -o b.svg
> b.svg: 60 nodes, 40 chosen, {*} edges
$ halley trace view r --name 'SEND*' -o c.svg
> c.svg: 60 nodes, 20 chosen, 19 edges
$ halley trace view r --collapse -o d.svg
> d.svg: 60 nodes, as {*} boxes, {*} edges

## too many nodes are drawn together, and the picture and the command say so
$ halley trace gen random -n 2 --nodes 20000 -o big > /dev/null
$ halley trace view big --limit 300 -o big.svg
> big.svg: 20000 nodes, as {*} boxes, {*} edges
! halley: too many nodes to draw one by one: each box is all of a lane in a stretch; choose a part with --from, --type or --name, or raise --limit
$ grep -c 'Too many to draw one by one' big.svg
> 1

## what cannot be drawn is said in a sentence, and no file is left
$ halley trace gen ring -n 2 -o r > /dev/null
$ halley trace view r --from 99 -o x.svg
! halley: r.0.et: there is no node 99 in the trace
? 1
$ halley trace view r --type coll -o x.svg
! halley: r.0.et: no node of the trace is of that type and name
? 1
$ halley trace view r --type wings -o x.svg
! halley: --type must be comp, coll, send, recv, load, store, metadata or invalid, is "wings"
! see 'halley trace view --help'
? 2
$ halley trace view r --rank 7 -o x.svg
! halley: there is no rank 7, the set has 2
! see 'halley trace view --help'
? 2
$ halley trace view r -o x.png
! halley: x.png does not end in .svg, .html, .dot or .graphml; say --form
! see 'halley trace view --help'
? 2
$ halley trace view r --from two -o x.svg
! halley: --from needs a node id, is "two"
! see 'halley trace view --help'
? 2
$ halley trace view r -o nowhere/x.svg
! halley: {*}nowhere/x.svg: {*}
? 1
$ ls
> r.0.et
> r.1.et

## recorded times become a timeline, in the simulator's beside its own
$ halley trace link -q --ranks $DATA/recording/host.%d.json $DATA/recording/device.%d.json -o step
$ halley trace view step --timeline a.json; head -4 a.json; grep -c '"ph":"X"' a.json; grep thread_name a.json | grep -o '"pid":[0-9]*\|{"name":.*'
> {"displayTimeUnit":"ns","traceEvents":[
> {"ph":"M","pid":0,"tid":0,"name":"process_name","args":{"name":"rank 0, recorded"}},
> {"ph":"M","pid":0,"tid":101,"name":"thread_name","args":{"name":"thread 1"}},
> {"ph":"X","pid":0,"tid":101,"name":"## forward ##","cat":"CPU","ts":0,"dur":200,"args":{"id":2,"type":"COMP_NODE","bytes":0,"shapes":"[]"}},
> 34
> "pid":0
> {"name":"thread 1"}},
> "pid":0
> {"name":"thread 2"}},
> "pid":0
> {"name":"stream 7"}},
> "pid":0
> {"name":"stream 20"}},
> "pid":1
> {"name":"thread 1"}},
> "pid":1
> {"name":"thread 2"}},
> "pid":1
> {"name":"stream 7"}},
> "pid":1
> {"name":"stream 20"}},
$ halley sim step --replay --timeline b.json > /dev/null; grep process_name b.json; grep 'sgemm_64x64' b.json | head -4
> {"ph":"M","pid":0,"tid":0,"name":"process_name","args":{"name":"rank 0"}},
> {"ph":"M","pid":1,"tid":0,"name":"process_name","args":{"name":"rank 1"}},
> {"ph":"M","pid":2,"tid":0,"name":"process_name","args":{"name":"rank 0, recorded"}},
> {"ph":"M","pid":3,"tid":0,"name":"process_name","args":{"name":"rank 1, recorded"}},
> {"ph":"X","pid":0,"tid":4,"name":"sgemm_64x64","ts":70,"dur":400.25,"args":{"id":4,"type":"COMP_NODE","bytes":81920}},
> {"ph":"X","pid":1,"tid":4,"name":"sgemm_64x64","ts":70,"dur":400.25,"args":{"id":4,"type":"COMP_NODE","bytes":81920}},
> {"ph":"X","pid":2,"tid":1073741831,"name":"sgemm_64x64","cat":"matmul","ts":50.5,"dur":400.25,"args":{"id":4,"type":"COMP_NODE","bytes":81920,"class":"matmul"}},
> {"ph":"X","pid":3,"tid":1073741831,"name":"sgemm_64x64","cat":"matmul","ts":50.5,"dur":400.25,"args":{"id":4,"type":"COMP_NODE","bytes":81920,"class":"matmul"}},
$ halley trace gen ring -n 2 -o r > /dev/null; halley trace view r --timeline x.json
! halley: no node says when it ran; traces that halley trace link makes of two recordings do
? 1
$ halley trace view step --timeline x.json -o y.html
! halley: --timeline writes no picture
! see 'halley trace view --help'
? 2

## a recording is shown as its call tree, its graph on request
$ halley trace view $DATA/recordings/model.json.gz -o m.html 2> said
> m.html: call tree of 885 operators and kernels in 45 rows
$ grep -c '<summary>' m.html; grep -o 'aten::addmm</span> <u>x 48' m.html | head -1
> 16
> aten::addmm</span> <u>x 48
$ halley trace view $DATA/recordings/model.json.gz --graph -o g.html 2> said | cut -c 1-15
> g.html: 2072 no
