% SPDX-License-Identifier: GPL-2.0-only
%
% Matrices, strings and cells: octave work.m GO ROUNDS. One line for each round, until there were
% ROUNDS of them and the file GO is there.

args = argv();
rand("twister", 34);
state = eye(40);
cells = repmat({""}, 1, 10);
round = 0;
while round < str2double(args{2}) || ! exist(args{1}, "file")
	round++;
	a = rand(40) + 40 * eye(40);
	state = a \ (state + 1);
	[q, r] = qr(a);
	cells{mod(round, 10) + 1} = num2hex(sum(abs(diag(r))));
	printf("%d %s %s %d\n", round, num2hex(sum(state(:))), strjoin(cells, ":"), numel(cells));
	fflush(stdout);
	pause(0.05);
end
puts("end\n");
