# halley score

## an unknown set is refused
$ halley score nonsense
! halley: no set "nonsense"; give a file, or a set that `halley score` lists
? 1

## a file that is not there is refused
$ halley score nowhere.json
! halley: nowhere.json: no such file
? 1

## both forms at once are wrong usage
$ halley score --json --csv
! halley: --json and --csv exclude each other
! see 'halley score --help'
? 2
