# halley plan: the best ways to cut a model.

## plans are ranked, each with what it loses by
$ halley plan -m gpt-18.4b -c dgx-a100:64 --global-batch 128 --top 2
>    tp  pp  dp  cp  ep  virtual  mbs  recompute  sharding {*} loses to the one above by
> 1 {*}
> 2 {*} +{*} %
>
> {*} plans tried, {*} fit

## threads change nothing
$ halley plan -m gpt-7.5b -c dgx-h100:32 --global-batch 64 --csv --threads 1 > one; halley plan -m gpt-7.5b -c dgx-h100:32 --global-batch 64 --csv --threads 3 | cmp - one

## a limit holds
$ halley plan -m gpt-7.5b -c dgx-h100:32 --global-batch 64 --tp 4 --top 1 --csv | cut -d, -f2
> tp
> 4

## nothing fits
$ halley plan -m gpt-1t -c dgx-a100:8 --global-batch 8
! halley: none of {*} plans fits: more NPUs, more memory or fewer limits are needed
? 1
