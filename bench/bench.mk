# SPDX-License-Identifier: GPL-2.0-only
#
# make bench [KERNEL=6.1] [BENCH='pause dump'] [BENCH_RUNS=5] [CRIU=debian]
# The figures of docs/performance.md, beside CRIU's, in one VM; BENCH=incremental beside full
# checkpoints, BENCH=rollback beside restarts; BENCH=iotrace: I/O that is watched and not.

$(call program,bench/touch,bench/touch.c,-lpthread)
$(call program,bench/measure,bench/measure.c,)
$(call program,bench/steady,bench/steady.c,)
$(call program,bench/inplace,bench/inplace.c,)
$(call program,bench/iosteps,bench/iosteps.c,)
# list of thousands of generations: build/bin/bench/catalog_list DIR [N]
$(call program,bench/catalog_list,bench/catalog_list.c,$(CKPTD_LIBS))

# grouping of samples, merging of stacks: build/bin/bench/diagnose
$(call program,bench/diagnose,bench/diagnose.c supervisor/diagnose/filter.c \
	supervisor/diagnose/match.c ckptctl/stack_tree.c,-lm)
# samples of many threads beside gdb and eu-stack, in a VM: its opening comment says how
$(call program,bench/sample,bench/sample.c,$(CKPTD_LIBS))

# records of jobs' I/O that one core stores and merges: build/bin/bench/io_store, in a directory on
# the disk that is meant
$(call program,bench/io_store,bench/io_store.c,$(CKPTD_LIBS))

$(call program,bench/image,bench/image.c,$(IMAGE_LIBS) -lm)
$(call program,bench/erasure,bench/erasure.c,$(LEVELS_LIBS))

BENCH ?= pause dump restore
BENCH_RUNS ?= 5

# what the glue adds to MPI calls; on this machine, no VM
.PHONY: bench-mpi
bench-mpi: user
	RUNS=$(BENCH_RUNS) bench/mpi.sh

# what it costs real codes between checkpoints; on this machine, no VM (Debian's lammps, gromacs,
# hpcc)
.PHONY: bench-proxies
bench-proxies: user
	RUNS=$(BENCH_RUNS) bench/proxies.sh

# erasure coding beside ISA-L; on this machine, no VM
.PHONY: bench-erasure
bench-erasure: user
	bench/erasure.sh

# both writers of images, and pages that are the same; on this machine, no VM
.PHONY: bench-image
bench-image: user
	RUNS=$(BENCH_RUNS) bench/image.sh

# srun with and without Slurm's plugin; on this machine, no VM
.PHONY: bench-slurm
bench-slurm: user
	bench/slurm.sh

# web pages of jobs with many generations; as root, on this machine, no VM
.PHONY: bench-web
bench-web: user
	work=$$(mktemp -d) && chmod 755 "$$work" && \
		RUNS=$(BENCH_RUNS) bench/web.py --bin $(BIN) --work "$$work"; \
		rm -rf "$$work"

# quiesce and restart of 8 ranks on 3 nodes (VMs), beside a barrier
.PHONY: bench-quiesce
bench-quiesce: modules-$(KERNEL) user
	KERNEL=$(KERNEL) RUNS=$(BENCH_RUNS) bench/quiesce.sh

bench: modules-$(KERNEL) user
	KERNEL=$(KERNEL) RUNS=$(BENCH_RUNS) bench/run $(BENCH)
