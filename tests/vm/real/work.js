// SPDX-License-Identifier: GPL-2.0-only
//
// A server of HTTP whose three clients, other processes of Node.js, keep their connections, and a
// worker thread: node work.js GO ROUNDS. One line for each round, until there were ROUNDS of them
// and the file GO is there.
'use strict';
const { fork } = require('child_process');
const crypto = require('crypto');
const fs = require('fs');
const http = require('http');
const { Worker, isMainThread, parentPort } = require('worker_threads');
const CLIENTS = 3;

function sum(text) {
	return crypto.createHash('sha256').update(text).digest('hex').slice(0, 16);
}

// Each message of the parent is a question, and the answer goes back to it.
function client(port) {
	const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
	process.on('message', (n) => {
		http.get({ port, agent, host: '127.0.0.1', path: `/${n}` }, (answer) => {
			let text = '';
			answer.on('data', (data) => { text += data; });
			answer.on('end', () => process.send(text));
		}).on('error', (error) => {
			console.error(error);
			process.exit(3);
		});
	});
}

async function rounds(clients, worker, connections) {
	const [, , go, least] = process.argv;
	const answer = (from) => new Promise((done) => from.once('message', done));
	for (let n = 1; n <= least || !fs.existsSync(go); n++) {
		const answers = Promise.all([...clients, worker].map(answer));
		clients.forEach((one, k) => one.send(n * CLIENTS + k));
		worker.postMessage(n);
		console.log(n, ...await answers, connections());
		await new Promise((done) => setTimeout(done, 50));
	}
	clients.forEach((one) => one.disconnect());
	worker.terminate();
	console.log('end');
	process.exit(0);
}

function server() {
	let served = 0, connections = 0;
	const listener = http.createServer((question, answer) => {
		served++;
		answer.end(`${question.url}:${sum(question.url)}`);
	});
	listener.keepAliveTimeout = 0;
	listener.on('connection', () => connections++);
	listener.listen(0, '127.0.0.1', () => {
		const clients = [];
		for (let k = 0; k < CLIENTS; k++) {
			clients.push(fork(__filename, ['client', listener.address().port]));
			clients[k].on('exit', (code) => code && process.exit(5));
		}
		rounds(clients, new Worker(__filename), () => `${served} ${connections}`);
	});
}

if (!isMainThread)
	parentPort.on('message', (n) => parentPort.postMessage(sum(`worker ${n}`)));
else if (process.argv[2] === 'client')
	client(process.argv[3]);
else
	server();
