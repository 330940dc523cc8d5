## one data-parallel rank becomes all of them
$ halley trace spread $DATA/recordings/model.json.gz -o job --dp 4 2> said
> rank 0 as 4 ranks: 12 collectives each, 1 groups
$ cat job.comm_group.json
> {
>   "1": [0, 1, 2, 3]
> }
$ halley trace check job
> job: 4 ranks, 0 errors, 0 warnings, 1 note (--notes lists them)
$ halley sim --replay --json job | grep '"time_s"'
>   "time_s": 0.006374966,
$ halley trace link $DATA/recordings/model.json.gz -o one.et > report 2>&1; halley sim --replay --json one.et | grep '"time_s"'
>   "time_s": 0.006374966,

## groups of every rank lie along the axes of the recorded one's
$ printf '{"1": [0, 2]}\n' > two.json
$ gzip -dc $DATA/recordings/model.json.gz > m.json
$ halley trace spread m.json -o job --tp 2 --dp 2 --groups two.json 2> said
> rank 0 as 4 ranks: 12 collectives each, 2 groups
$ cat job.comm_group.json
> {
>   "1": [0, 2],
>   "2": [1, 3]
> }
$ halley trace check job
> job: 4 ranks, 0 errors, 0 warnings, 2 notes (--notes lists them)

## a job of another size, groups that fit no axes, and several ranks are refused
$ halley trace spread $DATA/recordings/model.json.gz -o job --dp 8
! halley: note: the other ranks are not known; the job waits for its slowest rank, which may take longer than this one
! halley: the recorded job has 4 ranks, but tp x dp x pp is 8; spread it as it was recorded, then change it with `halley trace scale --dp`
? 1
$ printf '{"1": [0, 1, 2]}\n' > odd.json
$ halley trace spread $DATA/recordings/model.json.gz -o job --tp 2 --dp 2 --groups odd.json
! halley: note: the other ranks are not known; the job waits for its slowest rank, which may take longer than this one
! halley: group 1 of 3 ranks (from 0) does not fit tp 2, dp 2, pp 1: ranks count tensor-parallel ones first, then data-parallel ones, then stages; --groups names the members
? 1
$ halley trace gen all-reduce -n 2 -o a > made
$ halley trace spread a -o job --dp 2
! halley: there are 2 ranks already, and they are no recordings; `halley trace scale --dp` changes how many there are
? 1
$ halley trace spread a
! halley: name the output with --out: a prefix or folder
! see 'halley trace spread --help'
? 2
$ ls
> a.0.et
> a.1.et
> made
> odd.json

## of the recordings of all ranks, the most typical one is taken
$ mkdir runs; for r in 0 1 2 3; do gzip -dc $DATA/recordings/model.json.gz | sed "s/\"rank\": 0/\"rank\": $r/" | gzip > runs/r$r.json.gz; done
$ halley trace spread runs -o job --dp 4
> rank 0 as 4 ranks: 12 collectives each, 1 groups
! halley: note: rank 0 of 4 is taken, the most typical one
$ halley trace spread runs -o other --dp 4 --rank 2
> rank 2 as 4 ranks: 12 collectives each, 1 groups
! halley: note: rank 2 of 4 is taken
