# halley score: predictions beside measurements.

## a set is scored with its stack
$ halley score megatron-sc21 --csv
> set,metric,rows,scored,mape,median_error,bias,held_out_error,memory_mape,spearman,regret,fitted,refused
> megatron-sc21,step time,7,7,{*},{*},{*},,,{*},,4,

## rows that cannot be scored are counted with the reason
$ halley score seqsel | head -4
> 18 of 25 rows were skipped:
>   18 of seqsel: a formula of the paper, not a reading
>
> Set  {*}

## JSON has the agreed keys
$ halley score simumax-moe --json | grep -oE '"(sets|set|metric|rows|scored|mape|median_error|bias|spearman|skipped|worst)"' | sort -u | wc -l
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
! halley: x.csv: the first line names neither matmuls {*} nor collectives {*}
? 1

## a size that no number of bytes can be is no measurement
$ printf 'system,nccl,op,dtype,num_gpus,message_size_elements,latency_ms\na100_sxm,2.27.3,all_gather,half,2,1e308,0.0119\na100_sxm,2.27.3,all_gather,half,2,1048576,0.0119\n' > h.csv; halley score h.csv | head -2
> 1 of 2 rows were skipped:
>   1 of collectives a100_sxm: unknown system, type or number
$ printf 'system,source,dtype,m,n,k,latency_ms\nh100_sxm,x,bfloat16,1e200,1e200,1e200,0.1\n' > g.csv; halley score g.csv > said
! halley: no row could be scored, 2 skipped: unknown system, type or number
? 1

## a set of which no row could be scored has no mean, and the answer is no
$ echo '[{"id": "a", "set": "s", "npu": "H100-SXM-80GB", "model": "no-such", "measured": {"step_time_s": 1}}]' > r.json; halley score r.json
> 1 of 1 rows were skipped:
>   1 of s: unknown model "no-such"
>
> Set  Of         Rows  Scored  Mean  Median  Bias  Held out  Memory  Rank corr.  Regret  Fitted  Refused
> s    step time     1       0{*}
! halley: no row could be scored, 1 skipped: unknown model "no-such"
? 1
$ halley score r.json --json | query - /sets/0/mape
> null
! halley: no row could be scored, 1 skipped: unknown model "no-such"

## memory stands beside time, by set and by row
$ halley score simumax-moe --csv | cut -d, -f1,2,9
> set,metric,memory_mape
> simumax-moe,step time,{*}
> simumax-moe,peak memory,
$ halley score simumax-moe --rows --csv | head -1
> id,set,layout,npu,stack,dtype,measured_s,predicted_s,step_error,error_typical,error_bound,held_out_s,measured_bytes,predicted_bytes,memory_error,full,fit

## the error of step times per stack and accelerator is that of its rows
$ halley score bloom --by-device --csv | head -1
> stack,npu,scored,mape,median_error,p90_error,bias
$ halley score bloom --by-device --csv | tail -1 | cut -d, -f1-3
> megatron-deepspeed-2022,A100-SXM4-80GB,76
$ test "$(halley score bloom --rows --csv | awk -F, 'NR > 1 {e = $8 / $7 - 1; s += e < 0 ? -e : e} END {printf "%.4f", s / (NR - 1)}')" = "$(halley score bloom --json | query - /overall/mape)" && echo same
> same
