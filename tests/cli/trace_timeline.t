# halley trace timeline: when the nodes of a recording ran.

## a recording becomes a timeline for Perfetto
$ halley trace link $DATA/recording/host.0.json $DATA/recording/device.0.json -o a.et -q; halley trace timeline a.et -o t.json; grep -c '"ph":"X"' t.json
> 17
$ halley trace timeline a.et -o t.json --json
> {
>   "out": "t.json",
>   "n_ranks": 1,
>   "n_distinct": 1
> }

## kernels have an arrow from their launch, also where no operator is around the call
$ for f in nsys_2024.sqlite tiny_gpu.xplane.pb window_edge.json; do halley trace link -q $DATA/recordings/$f -o $f.set/ 2> notes; halley trace timeline $f.set -o t.json; grep -c '"ph":"s"' t.json; grep -c '"ph":"f"' t.json; done
> 16
> 16
> 8
> 8
> 1
> 1

## traces without times are refused, and nothing is written
$ halley trace gen all-reduce -n 2 -o ar > list; halley trace timeline ar -o x.json; ls x.json
! halley: no node says when it ran; traces that halley trace link makes of two recordings do
! ls: cannot access 'x.json': No such file or directory
? 2

## an output is needed
$ halley trace timeline a.et
! halley: name the output with -o
! see 'halley trace timeline --help'
? 2

## the same as binary columns; a recording is linked in memory
$ halley trace link $DATA/recording/host.0.json $DATA/recording/device.0.json -o a.et -q; halley trace timeline a.et --form columns -o a.columns; head -c 7 a.columns; grep -a -o '"what":"[a-z]*","n_ranks":[0-9]*,"left_out":[0-9]*' a.columns; grep -a -o '"start_s":{"type":"f64","at":0,"n":[0-9]*}' a.columns
> HLYCOL1"what":"recording","n_ranks":1,"left_out":0
> "start_s":{"type":"f64","at":0,"n":17}
$ halley trace gen all-reduce -n 2 -o ar > list; halley trace timeline ar --form columns -o x.columns; ls x.columns
! halley: no node says when it ran; traces that halley trace link makes of two recordings do
! ls: cannot access 'x.columns': No such file or directory
? 2
