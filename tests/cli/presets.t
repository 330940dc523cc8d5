# halley presets: what is compiled in.

## a preset is shown with its sources
$ halley presets dgx-a100
> # presets/platforms/dgx-a100.yaml
> name: dgx-a100
> npu: A100-SXM4-80GB
> ...
> sources: {*}

## kinds can be listed
$ halley presets stacks --csv | head -2
> kind,name
> stack,jax-25

## an unknown name is refused
$ halley presets abacus
! halley: no preset "abacus"; `halley presets` lists them
? 1
