#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A Perl job: a hash of strings that grows, a chain of digests, both checked.
. "${BASH_SOURCE%/*}/phase.sh"

# shellcheck disable=SC2016
program='
use strict; use warnings; use Digest::MD5 qw(md5_hex); use Time::HiRes qw(usleep);
my ($dir) = @ARGV;
my (%seen, @order);
my $digest = "seed";
my $n = 0;
sub step { $digest = md5_hex($digest); $seen{$digest} = $n; push @order, $digest; $n++ }
step() for 1 .. 2000;
open(my $ready, ">", "$dir/ready") or die; close $ready;
until (-e "$dir/go") { step() for 1 .. 20; usleep(2000) }
my $again = "seed";
for my $i (0 .. $n - 1) {
	$again = md5_hex($again);
	die "step $i\n" unless $order[$i] eq $again && $seen{$again} == $i;
}
print "$n right\n";
'
out=$(perl -e "$program" "$dir") || fail "the job"
case $out in
*right) pass ;;
esac
fail "$out"
