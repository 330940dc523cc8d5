# halley calibrate

## a stack that is not there is refused
$ halley calibrate --stack nonsense
! halley: no stack preset "nonsense"; `halley presets` lists them
? 1

## a file that is not there is refused
$ halley calibrate nowhere.json
! halley: nowhere.json: no such file
? 1
