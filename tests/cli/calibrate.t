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
! halley: stack "jax-25" serves 1 layouts of these rows; a fit wants at least 3
? 1
