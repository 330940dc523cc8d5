# Template sets: what is wrong with an index is said with its line.

## errors of the index
$ halley trace gen -m gpt-3.6b -c dgx-h100:4 --pp 2 --global-batch 4 --template -o t > made
$ sed 's/ranks: 4/ranks: 6/' t.roles.yaml > a.roles.yaml; halley sim a -c dgx-h100:4
! halley: a.roles.yaml:1:1: the axes make 4 ranks, but ranks is 6
? 1
$ sed '/role1/d' t.roles.yaml > a.roles.yaml; halley sim a -c dgx-h100:4
! halley: a.roles.yaml:1:1: rank 2 is in no role: no `when` holds for it
? 1
$ sed 's/when: {pp: 1}/when: {pp: 0-1}/' t.roles.yaml > a.roles.yaml; halley trace check a
! halley: a.roles.yaml:1:1: rank 0 is in two roles: t.role0.et and t.role1.et
? 1
$ sed 's/when: {pp: 1}/when: {qq: 1}/' t.roles.yaml > a.roles.yaml; halley trace info a
! halley: a.roles.yaml:6:32: there is no axis "qq"
? 1
$ sed 's/pp: 1}}/pp: 2}}/' t.roles.yaml > a.roles.yaml; halley trace info a
! halley: a.roles.yaml:1:1: role 1 (t.role1.et): pp 2 does not exist; the axis has 0 to 1
? 1
$ sed '/  dp:/d' t.roles.yaml > a.roles.yaml; halley sim a -c dgx-h100:4
! halley: t.role0.et: node 0: pg_name "dp" has no rule
? 1
$ sed '/  prev:/d' t.roles.yaml > a.roles.yaml; halley sim a -c dgx-h100:4
! halley: t.role1.et: node 16: comm_peer "prev" has no rule
? 1
$ sed 's/next: {pp: +1, wrap: yes}/next: {pp: +1}/; s/prev: {pp: -1, wrap: yes}/prev: {pp: +1}/' t.roles.yaml > a.roles.yaml; halley sim a -c dgx-h100:4
! halley: t.role1.et: node 293: rank 2 has no peer "prev": its axis ends there
? 1
$ sed 's/along: \[cp, dp\]/along: [cp, dp], block: 3/' t.roles.yaml > a.roles.yaml; halley trace check a
! halley: a.roles.yaml:1:1: group "dp": block 3 does not divide the 2 ranks along it
? 1
$ sed 's/halley-roles 1/halley-roles 2/' t.roles.yaml > a.roles.yaml; halley trace check a
! halley: a.roles.yaml:1:9: format halley-roles 2 is newer than this program, which reads halley-roles 1
? 1
$ sed 's/groups:/group:/' t.roles.yaml > a.roles.yaml; halley trace check a
! halley: a.roles.yaml:8:3: unknown key "group"; did you mean groups?
? 1
$ sed 's/t.role1.et/none.et/' t.roles.yaml > a.roles.yaml; halley trace check a
! halley: none.et: no such file
? 1
$ sed 's/t.role1.et/t.role0.et/' t.roles.yaml > a.roles.yaml; halley trace check a
! halley: t.role0.et: node 153 of rank 0, a send with tag 0 and 12582912 bytes, has no receive on rank 2
? 1
