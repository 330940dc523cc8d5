# halley calibrate: a few constants fitted to runs.

## a shipped stack is made again by one command
$ halley calibrate -s megatron-2022 -o new.yaml
> stack megatron-2022: 4 constants, 7 runs of 7 layouts
> mean error {*} % before, {*} % after, {*} % on layouts not seen
>
> Constant      Unit  From      To  Meaning
> gemm {*}
> tp-time {*}
> hidden-bytes {*}
> batched {*}
$ halley presets megatron-2022 | tail -n +2 | cmp - new.yaml

## too few layouts are refused
$ halley calibrate -s jax-25
! halley: stack "jax-25" serves 1 layouts of these rows; a fit needs at least 3
? 1

## a device is fitted to a table of its own
$ printf 'system,nccl,op,dtype,num_gpus,message_size_elements,latency_ms\nh100_sxm,x,all_gather,half,8,1024,0.02\nh100_sxm,x,all_gather,half,8,1048576,0.05\nh100_sxm,x,all_gather,half,8,4194304,0.08\n' > t.csv
$ halley calibrate t.csv --device nvlink4-h100 -o new.yaml | head -2
> nvlink4-h100: 28 constants, {*} measurements
> mean error {*} % before, {*} % after, {*} % on {*} kept aside
$ grep ^tuner: new.yaml
> tuner: {*}

## what cannot be fitted is said
$ printf 'system,nccl,op,dtype,num_gpus,message_size_elements,latency_ms\nh100_sxm,x,all_gather,half,8,1024,0.02\n' > t.csv; halley calibrate t.csv --device nvlink3-a100
! halley: t.csv has no row of "nvlink3-a100"
? 1
$ halley calibrate t.csv --device nvlink9
! halley: no NPU or link preset "nvlink9"; `halley presets` lists them
? 1
$ halley calibrate --device nvlink3-a100
! halley: --device needs one CSV table and excludes --stack
! see 'halley calibrate --help'
? 2
$ printf 'a,b\n1,2\n' > t.csv; halley calibrate t.csv --device nvlink3-a100
! halley: t.csv: the first line names neither matmuls {*}
? 1
$ printf 'system,nccl,op,dtype,num_gpus,message_size_elements,latency_ms\nh100_sxm,x\n' > t.csv; halley calibrate t.csv --device nvlink4-h100
! halley: t.csv:2:1: 2 cells where the first line has 7
? 1
