# halley sim --job: several jobs on one cluster.

## jobs that interleave on an oversubscribed fabric slow each other down
$ printf 'npus: 8\nnetwork: {topology: leaf-spine, npus: 4, leaves: 2, spines: 2, link: 50 GB/s, latency: 1 us}\n' > c.yaml
$ halley trace gen all-reduce -n 4 --size '64 MB' -o a --csv > list
$ halley trace gen all-reduce -n 4 --size '64 MB' -o b --csv > list
$ halley sim -c c.yaml --job a --job b --placement spread
> Job  NPUs  On         Alone  Together  Slow-down  Shared links  Busiest of them     Use
> a       4  0,4,2,6  2.16 ms   4.29 ms      1.989             8  leaf0 -> spine0  99.4 %
> b       4  1,5,3,7  2.16 ms   4.29 ms      1.989             8  leaf0 -> spine0  99.4 %
>
> Dimension  Topology    NPUs       Link  Messages     Data     Use
>         0  npu-leaf      16  50.0 GB/s         2  1.71 GB  49.7 %
>         1  leaf-spine     8  50.0 GB/s         2  1.71 GB  99.4 %
>
> Hottest links    Kind        Bandwidth  Payload  On the wire     Use  Mostly by                            Share
> leaf0 -> spine0  leaf-spine  50.0 GB/s   192 MB       213 MB  99.4 %  ALL_REDUCE of group 1 and 1 like it  100 %
> leaf0 -> npu0    npu-leaf    50.0 GB/s  96.0 MB       107 MB  49.7 %  ALL_REDUCE of group 1 and 1 like it  100 %

## packed under their leaves they do not
$ printf 'npus: 8\nnetwork: {topology: leaf-spine, npus: 4, leaves: 2, spines: 2, link: 50 GB/s, latency: 1 us}\n' > c.yaml
$ halley trace gen all-reduce -n 4 --size '64 MB' -o a --csv > list
$ halley sim -c c.yaml --job a --job a --csv
> job,npus,placed_on,alone_s,together_s,slowdown,shared_links,busiest_shared_link,use
> a,4,0-3,0.002145333334,0.002145333334,1,0,,
> a,4,4-7,0.002145333334,0.002145333334,1,0,,

## a placement may be written down
$ printf 'npus: 8\nnetwork: {topology: leaf-spine, npus: 4, leaves: 2, spines: 2, link: 50 GB/s, latency: 1 us}\n' > c.yaml
$ halley trace gen all-reduce -n 4 --size '64 MB' -o a --csv > list
$ echo '[[0, 4, 1, 5], "2,6,3,7"]' > p.json
$ halley sim -c c.yaml --job a --job a --placement p.json --csv
> job,npus,placed_on,alone_s,together_s,slowdown,shared_links,busiest_shared_link,use
> a,4,"0,4,1,5",0.002157333334,0.004290666667,1.9888751540516454,8,leaf0 -> spine0,0.9944064635641271
> a,4,"2,6,3,7",0.002157333334,0.004290666667,1.9888751540516454,8,leaf0 -> spine0,0.9944064635641271
$ halley sim -c c.yaml --job a --job a --placement p.json --json | query - /jobs/1/slowdown /jobs/1/placed_on /time_s
> 1.9888751540516454
> "2,6,3,7"
> 0.004290666667
$ echo '[[0, 4, 1], "2,6,3,7"]' > q.json
$ halley sim -c c.yaml --job a --job a --placement q.json
! halley: q.json: job a has 4 ranks, and 3 NPUs are listed for it
? 1
$ echo '[[0, 4, 1, x], "2,6,3,7"]' > q.yaml
$ halley sim -c c.yaml --job a --job a --placement q.yaml
! halley: q.yaml: a list of NPUs is like 0,2,4-7; "x" is not
? 1
$ echo '[[0, 1, 2, 3], "3-6"]' > r.json
$ halley sim -c c.yaml --job a --job a --placement r.json
! halley: job a: rank 0 is placed on NPU 3, which job a has
? 1

## what does not go together is refused
$ halley trace gen all-reduce -n 4 -o a --csv > list
$ halley sim a -c dgx-h100:16 --job a
! halley: --job replaces TRACE; each job's groups are in the file next to its traces
! see 'halley sim --help'
? 2
$ halley sim a -c dgx-h100:16 --placement spread
! halley: --placement needs --job
! see 'halley sim --help'
? 2
$ halley sim -c dgx-h100:16 --job a --explain
! halley: --explain and --job exclude each other
! see 'halley sim --help'
? 2
$ halley sim -c dgx-h100:16 --job a --placement random:x
! halley: --placement: expected random:SEED with a whole number, is 'random:x'
! see 'halley sim --help'
? 2
$ halley sim -c dgx-h100:8 --job a --job a
> Job  NPUs  On     Alone  Together  Slow-down  Shared links  Busiest of them  Use
> a       4  0-3  19.7 us   19.7 us          1             0                      
> a       4  4-7  19.7 us   19.7 us          1             0                      
>
> Dimension  Topology      NPUs      Link  Messages     Data     Use
>         0  npu-nvswitch    16  450 GB/s         2  54.3 MB  38.2 %
>
> Hottest links      Kind          Bandwidth  Payload  On the wire     Use  Mostly by                            Share
> npu0 -> nvswitch0  npu-nvswitch   450 GB/s  1.57 MB      3.40 MB  38.2 %  ALL_REDUCE of group 1 and 1 like it  100 %
$ halley sim -c dgx-h100:8 --job nothing
! halley: nothing: no such trace: there is no file, no folder and no nothing.0.et of that name
? 1
