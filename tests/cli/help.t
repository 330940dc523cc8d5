# The command line as such: what every command has in common.

## the version is one line
$ halley --version
> halley {*}.{*}.{*}

## without a command the overview is shown
$ halley > bare
$ halley --help > long
$ halley -h > short
$ halley help > command
$ cmp bare long && cmp bare short && cmp bare command && head -3 bare
> usage: halley COMMAND [OPTIONS] ...
>
> halley - how fast a model will train on a cluster before it exists, and why

## a group lists its commands
$ halley trace
> usage: halley trace COMMAND [OPTIONS] ...
> ...
$ halley trace > a; halley trace --help > b; halley help trace > c; cmp a b && cmp a c

## help of a command by option and by command is the same
$ halley help help
> usage: halley help [OPTIONS] [COMMAND|FILE]
>
> halley help - explain a command
>
> Show what 'halley COMMAND --help' shows; without COMMAND, the overview; for a
> kind of file (model, plan-file, stack, study), what may stand in it.
>
> options:
>       --man                 write the manual page (roff) of COMMAND, or of
>                             halley
>       --completion          write the completion script for bash
>       --max-memory SIZE     largest amount of memory to use (default:
>                             HALLEY_MAX_MEMORY, else half of the machine's;
>                             example: 8 GB)
>   -h, --help                show this help
>
> examples:
>   halley help trace
>       list the commands that work on traces
>   halley help study
>       what stands in a study file
>   halley help --completion > /etc/bash_completion.d/halley
$ halley help help > a; halley help --help > b; halley help -h > c; cmp a b && cmp a c

## an unknown command is named and a near one offered
$ halley hepl
! halley: no command "hepl"; did you mean help?
! see 'halley --help'
? 2
$ halley xyzzy
! halley: no command "xyzzy"
! see 'halley --help'
? 2

## an unknown sub-command is named with its group
$ halley trace xyzzy
! halley: no command "trace xyzzy"
! see 'halley trace --help'
? 2
$ halley help trace xyzzy
! halley: no command "trace xyzzy"
! see 'halley help --help'
? 2

## an unknown option is named and a near one offered
$ halley help --compltion
! halley: unknown option --compltion, did you mean --completion?
! see 'halley help --help'
? 2
$ halley help -x
! halley: unknown option -x
! see 'halley help --help'
? 2
$ halley --versoin
! halley: unknown option --versoin, did you mean --version?
! see 'halley --help'
? 2
$ halley trace --json
! halley: trace needs a command before --json
! see 'halley trace --help'
? 2

## a flag takes no value
$ halley help --man=5
! halley: --man takes no value
! see 'halley help --help'
? 2

## too many arguments are counted
$ halley help a b c
! halley: help takes at most 2 arguments ([COMMAND|FILE]), was given 3
! see 'halley help --help'
? 2

## results that standard output does not take are a failure
$ halley --version > /dev/full
! halley: cannot write the results to standard output: No space left on device
? 1
$ halley help --completion > /dev/full
! halley: cannot write the results to standard output: No space left on device
? 1
$ halley --version >&-
! halley: cannot write the results to standard output: Bad file descriptor
? 1

## a reader that stops early is no failure
$ (halley help --completion; echo $? > code) | true; test "$(cat code)" != 1

## the completion script is bash
$ halley help --completion | bash -n
$ halley help --completion > c; bash -c '. ./c; COMP_WORDS=(halley he); COMP_CWORD=1; _halley; echo ${COMPREPLY[*]}'
> help
$ halley help --completion > c; bash -c '. ./c; COMP_WORDS=(halley help --co); COMP_CWORD=2; _halley; echo ${COMPREPLY[*]}'
> --completion

## the synopsis of every man page is the usage line of --help
$ halley help | sed -n 's/^  \([a-z]* *[a-z]*\)  .*/\1/p' | while read c; do halley help --man $c | sed -n '/^.SH SYNOPSIS/,/^.fi/{/^halley/p}' > man; halley $c --help | sed -n 's/^usage: //p' > help; cmp man help || echo differs: $c; done; test -s help

## the keys of cluster files come from the tables that read them
$ halley help cluster | sed -n '/^keys of npu/,/^$/p'
> keys of npu:
>   name                      name of the device; without other keys, name of a
>                             preset (default: none; example: H100-SXM-80GB)
>   type                      what sentences call it: accelerator, gpu, tpu
>                             (default: accelerator)
>   peak                      dense FLOP/s: one number for 16-bit work, or by
>                             number format (required for compute times; example:
>                             {bf16: 989 TFLOP/s, fp8: 1979 TFLOP/s})
>   cores                     cores that the tiles of a matmul are distributed
>                             over (default: 100; example: 132)
>   on-chip                   memory on the chip (shared cache) (default: 0;
>                             example: 50 MB)
>   memory                    memories, nearest first (default: none; example:
>                             [{name: hbm, capacity: 80 GB, bandwidth: 3350
>                             GB/s}])
>   gemm                      measured rates of 16-bit matmuls (default: those of
>                             a generic device; example: {efficiency: 0.8, launch:
>                             3 us})
>   gemm-fp8                  measured rates of 8-bit matmuls (default: gemm;
>                             example: {efficiency: 0.7})
>   gemm-fp8-cast             rates of 8-bit matmuls with a cast, as in serving
>                             kernels (default: those of a generic device;
>                             example: {efficiency: 0.6})
>   fp8-any-order             whether 8-bit matmuls read operands in either order,
>                             so that no transposed copy of the weights is kept
>                             (default: no; example: yes)
>   cast                      launch time and memory share of that cast (default:
>                             none; example: {launch: 3 us, memory-share: 50 %})
>   round-to                  matmul sizes are rounded up to a multiple of this
>                             (default: 0, no rounding; example: 128)
>   attention                 measured rates of fused attention (default: those of
>                             a generic device; example: {share: [0.54, 0.68,
>                             0.78, 0.8], half-length: 500})
>   memory-share              share of the memory bandwidth that streaming kernels
>                             reach (default: 80 %; example: 90 %)
>   misaligned                factors of time for matmul sizes that tensor cores
>                             handle badly (default: {n64: 1.1, n8: 1.5, head-8:
>                             2, head-2: 4}; example: {n64: 1.2})
>   power                     power at full load (default: 0; example: 700 W)
>   price                     price of one device (default: 0; example: 28000 USD)
>   sources                   where the numbers come from; for readers only
>                             (default: none; example: [https://www.nvidia.com])
>

## files have pages made from the tables that read them
$ halley help plan-file | grep -c -E '^  (tp|rank-order|stage-layers|offload) '
> 4
$ halley help model | grep -c -E '^  (layers|kv-rank|flops) '
> 3
$ halley help stack | grep -c -E '^  (framework|fit|hidden-bytes|memory-fixed) '
> 4
