# halley serve: what its words may be. The server itself is tested by tools/abuse/check-serve.

## an address that is none, a port that is none
$ halley serve --listen example.org --folder .
! halley: --listen takes an address, such as 127.0.0.1 or ::1, not "example.org"
! see 'halley serve --help'
? 2
$ halley serve --port 70000
! halley: --port must be at most 65535, is 70000
! see 'halley serve --help'
? 2

## a folder that is not there
$ halley serve --folder no-such
! halley: no-such: cannot open the folder: No such file or directory
? 1

## without a home there is no folder to work in
$ env -u HOME -u XDG_STATE_HOME halley serve
! halley: there is no folder to work in: neither XDG_STATE_HOME nor HOME is set; name one with --folder
! see 'halley serve --help'
? 2

## the first line is the address with its token; the state folder is made; a signal ends it
$ XDG_STATE_HOME=$PWD/state halley serve > said & for i in $(seq 500); do grep -q token said && break; sleep 0.02; done; kill $!; wait $! && cat said; find state -type d
> http://127.0.0.1:{*}/?token={*}
> state
> state/halley
> state/halley/serve
