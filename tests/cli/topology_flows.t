# halley topology flows: flows that share links.

## two flows share a link; one has a cap, one crosses another link with half of its rate
$ printf '{"cases": [{"id": "two", "links": [[0, 1, 1e9, 1e-6]], "flows": [{"start": 0, "bytes": 1000000, "route": [0], "latency": 1e-6}, {"start": 0, "bytes": 500000, "route": [0], "latency": 1e-6}]}, {"id": "caps", "links": [[0, 1, 1e9, 0], [1, 2, 1e8, 0]], "flows": [{"start": 0, "bytes": 1000000, "route": [0], "cap": 2e8}, {"start": 0.001, "bytes": 1000000, "route": [0, [1, 1, 2]]}, {"start": 0, "bytes": 0, "route": [0], "latency": 2e-6}]}]}' > f.json
$ halley topology flows f.json
> case  flows     last     mean  never end  stated  differ
> two       2  1.50 ms  1.25 ms          0       0       0
> caps      3  6.00 ms  3.67 ms          0       0       0
$ halley topology flows f.json --json
> {
>   "cases": [
>     {
>       "id": "two",
>       "finish_s": [0.001501, 0.001001],
>       "rate_Bps": [499999999.9999866, 499999999.9999866]
>     },
>     {
>       "id": "caps",
>       "finish_s": [0.005, 0.006, 2e-06],
>       "rate_Bps": [199999999.99999186, 199999999.99999186, null]
>     }
>   ]
> }
$ gzip f.json && halley topology flows f.json.gz --csv
> case,flows,last_s,mean_s,never_end,stated,differ
> two,2,0.001501,0.001251,0,0,0
> caps,3,0.006,0.003667333333333333,0,0,0

## a capacity that becomes zero stalls flows for ever
$ printf '{"cases": [{"id": "cut", "links": [[0, 1, 1e9, 0]], "flows": [{"start": 0, "bytes": 1000000, "route": [0]}], "changes": [[0.0005, 0, 0]]}]}' > f.json
$ halley topology flows f.json --json
> {
>   "cases": [
>     {
>       "id": "cut",
>       "finish_s": [null],
>       "rate_Bps": [999999999.999987]
>     }
>   ]
> }

## all cases of the oracle are met
$ halley topology flows $DATA/flow-oracle.json.gz --csv | awk -F, 'NR > 1 { flows += $2; stated += $6; differ += $7 } END { print NR - 1, flows, stated, differ }'
> 400 12981 12981 0

## what is wrong is named with its place
$ printf '{"cases": [{"links": [[0, 1, 1e9, 0]], "flows": [{"bytes": 1, "route": [3]}]}]}' > f.json && halley topology flows f.json
! halley: f.json:1:77: byte 76: a route names a link that does not exist
? 1
$ printf '{"cases": [{"links": [[0, 1, -1, 0]]}]}' > f.json && halley topology flows f.json
! halley: f.json:1:35: byte 34: the capacity of a link must be 0, or between 1 kB/s and 128 TB/s
? 1
$ printf '{"cases": [{"links": [[0, 1, 1e9' > f.json && halley topology flows f.json
! halley: f.json:1:33: byte 32: the file ends inside a value; it is cut
? 1
$ printf '{}' > f.json && halley topology flows f.json
! halley: f.json: the file has no "cases": it is no flow file
? 1
$ halley topology flows missing.json
! halley: missing.json: no such file
? 1
