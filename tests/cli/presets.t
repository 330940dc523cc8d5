# halley presets

## every kind is listed with its names
$ halley presets | head -1
> Kind      Name
$ halley presets --json | python3 -c 'import json, sys; print(len(json.load(sys.stdin)) > 50)'
> True

## a kind lists only its own
$ halley presets platforms --csv | cut -d, -f1 | sort | uniq -c | wc -l
> 2

## a name shows the file
$ halley presets dgx-a100 | head -3
> # presets/platforms/dgx-a100.yaml
> name: dgx-a100
> npu: A100-SXM4-80GB

## an unknown name is refused by name
$ halley presets dgx-a10O
! halley: no preset "dgx-a10O"; `halley presets` lists them
? 1
