# SPDX-License-Identifier: GPL-2.0-only
#
# Random numbers, a linear model and a data frame: Rscript work.R GO ROUNDS. One line for each
# round, until there were ROUNDS of them and the file GO is there.

args <- commandArgs(trailingOnly = TRUE)
set.seed(34)
out <- stdout()
table <- data.frame(round = integer(), slope = double())
round <- 0
while (round < as.integer(args[2]) || !file.exists(args[1])) {
	round <- round + 1
	x <- rnorm(2000)
	y <- 3 * x + rnorm(2000, sd = 0.1)
	slope <- coef(lm(y ~ x))[2]
	table <- rbind(table, data.frame(round = round, slope = slope))
	m <- matrix(runif(2500), 50)
	cat(sprintf("%d %a %a %a\n", round, slope, sum(table$slope), det(solve(m) %*% m)),
		file = out)
	flush(out)
	Sys.sleep(0.05)
}
cat("end\n")
