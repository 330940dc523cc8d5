# halley trace link: recordings of real runs.

## two recordings become a trace that passes the checks
$ halley trace link $DATA/recording/host.0.json $DATA/recording/device.0.json -o a.et | grep -E 'linked|dropped|recorded|replayed'
> linked by record function id           11
> kernels linked                         4
> copies linked                          1
> recorded                               1.45 ms
> replayed                               1.47 ms
$ halley trace check a.et
> a.et: 1 rank, 0 errors, 0 warnings, 1 note (--notes lists them); one rank alone, nothing to compare it with

## what is linked can be simulated as it was recorded
$ halley trace link $DATA/recording/host.0.json $DATA/recording/device.0.json -o a.et | grep -E 'replayed|lost'
> replayed                               1.47 ms
> lost in replay: from launch to device  -20.8 us
> lost in replay: on devices             1.25 us
$ halley sim a.et --replay | head -3
> 1.47 ms on 1 rank
>
> Per rank                    Mean    Least     Most  On rank
$ halley sim a.et --replay -c a.yaml
! halley: --replay needs no cluster
! see 'halley sim --help'
? 2

## many ranks have one clock
$ halley trace link --ranks $DATA/recording/host.%d.json $DATA/recording/device.%d.json -o step
> Rank  Host nodes  Linked  Device  Dropped  Communication  Nodes  Edges  Recorded  Replayed     Clock
>    0          14  78.6 %       5        0              1     36     70   1.45 ms   1.47 ms       0 s
>    1          14  78.6 %       5        0              1     35     68   1.45 ms   1.47 ms  -2.50 ms
$ ls; halley trace check step
> step.0.et
> step.1.et
> step.comm_group.json
> step: 2 ranks, 0 errors, 0 warnings, 2 notes (--notes lists them)

## gzipped recordings are read as they are
$ gzip -c $DATA/recording/host.0.json > h.gz; gzip -c $DATA/recording/device.0.json > d.gz
$ halley trace link -q h.gz d.gz -o a.et; halley trace link -q $DATA/recording/host.0.json $DATA/recording/device.0.json -o b.et; cmp a.et b.et

## a host trace alone has order, shapes and communication
$ halley trace link $DATA/recording/host.0.json -o a.et --csv | cut -d, -f1-3
> rank,schema,n_host_nodes
> 0,1.1.0-chakra.0.0.4,14

## what does not belong together is refused, and nothing is written
$ halley trace link $DATA/recording/device.0.json $DATA/recording/host.0.json -o a.et
! halley: {*}device.0.json:{*}: this is a Kineto (device) trace, not a PyTorch execution trace; name the host trace first and the device trace second
? 1
$ head -c 2000 $DATA/recording/device.0.json > cut.json; halley trace link $DATA/recording/host.0.json cut.json -o a.et
! halley: cut.json:{*}: {*}; the file is cut
? 1
$ gzip -c $DATA/recording/device.0.json | head -c 500 > cut.gz; halley trace link $DATA/recording/host.0.json cut.gz -o a.et
! halley: cut.gz: the gzip file is cut short near byte 500 of the compressed file; copy or download it again (gzip -t checks it)
? 1
$ ls *.et
! ls: cannot access '*.et': No such file or directory
? 2

## names of many ranks must say where the rank is
$ halley trace link --ranks host.json device.json -o a
! halley: the name of many traces must contain %d once, for the rank, as in "host.%d.json"; "host.json" does not
? 1
$ halley trace link host.json device.json
! halley: where to? name the output with -o
! see 'halley trace link --help'
? 2
