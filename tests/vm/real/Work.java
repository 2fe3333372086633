// SPDX-License-Identifier: GPL-2.0-only
//
// Threads of a pool that make garbage and sums: java Work GO ROUNDS. One line for each round, until
// there were ROUNDS of them and the file GO is there.

import java.io.File;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;

public class Work {
	static final int TASKS = 4;
	static final Map<Integer, long[]> kept = new HashMap<>();
	static final AtomicLong tasks = new AtomicLong();

	/** A sum over objects that nobody needs afterwards. */
	static long task(int round, int n) {
		long x = round * 31L + n;
		for (int i = 0; i < 20; i++) {
			List<String> texts = new ArrayList<>();
			for (int k = 0; k < 200; k++) {
				x = x * 6364136223846793005L + 1442695040888963407L;
				texts.add(Long.toHexString(x) + ":" + k);
			}
			for (String text : texts)
				x ^= text.hashCode();
		}
		tasks.incrementAndGet();
		return x;
	}

	/** A large block for each of the last 16 rounds: the old ones are collected. */
	static long keep(int round) {
		long[] block = new long[1 << 17];
		java.util.Arrays.fill(block, round);
		kept.put(round % 16, block);
		long sum = 0;
		for (long[] one : kept.values())
			sum += one[0] + one[one.length - 1];
		return sum;
	}

	public static void main(String[] args) throws Exception {
		File go = new File(args[0]);
		int rounds = Integer.parseInt(args[1]);
		ExecutorService pool = Executors.newFixedThreadPool(TASKS);
		long sum = 0;
		for (int round = 1; round <= rounds || !go.exists(); round++) {
			List<Future<Long>> answers = new ArrayList<>();
			for (int n = 0; n < TASKS; n++) {
				final int r = round, k = n;
				answers.add(pool.submit(() -> task(r, k)));
			}
			for (Future<Long> answer : answers)
				sum += answer.get();
			System.out.printf("%d %016x %d %d%n", round, sum, keep(round), tasks.get());
			Thread.sleep(50);
		}
		pool.shutdown();
		System.out.println("end");
	}
}
