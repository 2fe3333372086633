#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
#
# A program with one System V object, for sysv.t: sysv.pl KIND FILE writes "PID ID" to FILE and
# ends when FILE.end exists.
#
#   none            no object
#   queue, sem, shm makes one and does not use it; queue_used, sem_used: uses it
#   use_sem_ID      adds 1 to the second semaphore of somebody's set
#   wait_ID         waits for a message of somebody's queue
use strict;
use warnings;
use IPC::SysV qw(IPC_PRIVATE IPC_CREAT IPC_NOWAIT SETVAL);

my ($kind, $file) = @ARGV;
my $id = -1;

if ($kind =~ /^queue/) {
	$id = msgget(IPC_PRIVATE, IPC_CREAT | 0600) // die "msgget: $!";
} elsif ($kind =~ /^sem/) {
	$id = semget(IPC_PRIVATE, 2, IPC_CREAT | 0600) // die "semget: $!";
} elsif ($kind =~ /^shm/) {
	$id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600) // die "shmget: $!";
} elsif ($kind =~ /_(\d+)$/) {
	$id = $1;
}
msgsnd($id, pack('l! a*', 1, 'x'), IPC_NOWAIT) or die "msgsnd: $!" if $kind eq 'queue_used';
semctl($id, 1, SETVAL, 1) // die "semctl: $!" if $kind eq 'sem_used';
semop($id, pack('s3', 1, 1, 0)) or die "semop: $!" if $kind =~ /^use_sem/;

open(my $out, '>', "$file.new") or die "$file.new: $!";
print $out "$$ $id\n";
close($out);
rename("$file.new", $file);
msgrcv($id, my $message, 10, 7, 0) if $kind =~ /^wait/;
select(undef, undef, undef, 0.05) until -e "$file.end";
