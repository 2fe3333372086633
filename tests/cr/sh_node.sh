#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A Node.js server whose three clients, other Node.js processes, go on asking.
. "${BASH_SOURCE%/*}/phase.sh"

command -v node >/dev/null || skip "no Node.js"
cat >"$dir/server.js" <<'END'
const fs = require('fs'), net = require('net'), { fork } = require('child_process');
const [, , dir, role, id, port] = process.argv;
const CLIENTS = 3, LEAST = 300;
let i = 0, busy = 0, done = 0, served = 0;

function lines(socket, each) {
	let rest = '';
	socket.on('data', (data) => {
		const parts = (rest + data).split('\n');
		rest = parts.pop();
		parts.forEach(each);
	});
}

function ask(socket) {
	if (i >= LEAST && fs.existsSync(`${dir}/go`))
		socket.end();
	else
		socket.write(`${id} ${i}\n`);
}

function client() {
	const socket = net.connect(port, '127.0.0.1', () => ask(socket));
	lines(socket, (line) => {
		if (line !== `echo ${id} ${i}`)
			process.exit(3);
		if (++i === LEAST / 3)
			process.send('busy');
		setTimeout(ask, 2, socket);
	});
	socket.on('close', () => process.exit(i >= LEAST ? 0 : 4));
}

function server() {
	const listener = net.createServer((socket) => lines(socket, (line) => {
		served++;
		socket.write(`echo ${line}\n`);
	}));
	listener.listen(0, '127.0.0.1', () => {
		for (let n = 0; n < CLIENTS; n++) {
			const child = fork(__filename, [dir, 'client', n, listener.address().port]);
			child.on('message', () => {
				if (++busy === CLIENTS)
					fs.writeFileSync(`${dir}/ready`, '');
			});
			child.on('exit', (code) => {
				if (code !== 0)
					process.exit(5);
				if (++done === CLIENTS)
					listener.close();
			});
		}
	});
	process.on('exit', () => console.log(served >= CLIENTS * LEAST ? 'served' : served));
}

(role === 'client' ? client : server)();
END
said=$(node "$dir/server.js" "$dir") || fail "node ended with $?: $said"
same "$said" served output
pass
