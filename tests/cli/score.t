# halley score: predictions beside measurements.

## a set is scored with its stack
$ halley score megatron-sc21 --csv
> set,metric,rows,scored,mape_pct,median_pct,bias_pct,cv_pct,spearman,regret_pct,fitted,refused
> megatron-sc21,step time,7,7,{*},{*},{*},,{*},,4,

## rows that cannot be scored are counted with the reason
$ halley score seqsel --worst | grep skipped
>   skipped 18: a formula of the paper, not a reading

## JSON has the agreed keys
$ halley score simumax-moe --json | grep -oE '"(sets|set|metric|rows|scored|mape_pct|median_pct|bias_pct|spearman|skipped|worst)"' | sort -u | wc -l
> 11

## an unknown set is refused
$ halley score nothing
! halley: no set "nothing"; give a file, or a set that `halley score` lists
? 1

## a table of products is told by its first line
$ printf 'system,source,dtype,m,n,k,latency_ms\nh100_sxm,x,bfloat16,4096,4096,4096,0.183\n' > g.csv; halley score g.csv --csv | cut -d, -f1-4
> set,metric,rows,scored
> gemm h100_sxm bfloat16,latency,1,1
> gemm h100_sxm bfloat16,latency > 1e9 FLOP,1,1
$ printf 'a,b\n1,2\n' > x.csv; halley score x.csv
! halley: x.csv: the first line names neither products {*} nor collectives {*}
? 1
