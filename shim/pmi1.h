/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PMI-1's wire protocol, server side, for the ranks of one node: lines in, lines
 * out, no descriptor and no clock (pm_pmi1.c has those; tests and the fuzzer
 * have their own).
 *
 *	line	:= word { ' ' word } '\n'		word := NAME '=' VALUE
 *
 *	initack pmiid=TOKEN		→ initack; set size=, set rank=, set debug=
 *	init pmi_version=1 …		→ response_to_init pmi_version= pmi_subversion= rc=
 *	get_maxes			→ maxes kvsname_max= keylen_max= vallen_max=
 *	get_appnum			→ appnum appnum=
 *	get_universe_size		→ universe_size size=
 *	get_my_kvsname			→ my_kvsname kvsname=
 *	put kvsname= key= value=	→ put_result rc= msg=
 *	get kvsname= key=		→ get_result rc= msg= value=
 *	barrier_in			→ barrier_out, when all ranks of the job are in
 *	publish_name, unpublish_name, lookup_name	→ …_result rc=-1
 *	mcmd=spawn … endcmd		→ spawn_result rc=-1
 *	abort exitcode=
 *	finalize			→ finalize_ack
 *
 * Ranks are the job owner's and may send anything: lines, keys, values and their
 * sum are bounded, a command out of order is an error, and an error ends that
 * connection (and, through it, the job), never the server.
 */
#ifndef STILLPOINT_SHIM_PMI1_H
#define STILLPOINT_SHIM_PMI1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PMI1_LINE_MAX	2048	/* with its newline */
#define PMI1_KVSNAME_MAX 64
#define PMI1_KEY_MAX	64	/* this and the next one: with a terminating zero */
#define PMI1_VALUE_MAX	800	/* the library's line has 1024 bytes, with the names */
/* Bytes that a rank may put from init to finalize; also the table's bytes per rank of the job. */
#define PMI1_PUTS_MAX	(1u << 20)

struct pmi1;

struct pmi1_ops {
	/* One or more whole lines for the rank with that index. */
	void (*send)(unsigned int index, const char *text, size_t len, void *arg);
	/* All ranks here wait in a barrier; @data is valid during the call. */
	void (*fence)(const void *data, size_t len, void *arg);
	void (*abort)(unsigned int index, int code, void *arg);
};

struct pmi1_config {
	unsigned int size;		/* ranks of the job */
	unsigned int nr;		/* here */
	const unsigned int *rank;	/* by index */
	const unsigned int *app_of;	/* MPI_APPNUM by rank of the job; NULL: 0 of all */
	bool alone;			/* no other node: barriers end here */
	const char *kvsname;		/* shorter than PMI1_KVSNAME_MAX */
	const char *mapping;		/* PMI_process_mapping, or NULL */
	const struct pmi1_ops *ops;
	void *arg;
};

int pmi1_create(const struct pmi1_config *config, struct pmi1 **ret_server);
void pmi1_destroy(struct pmi1 *server);		/* NULL is fine */

/*
 * pmi1_line() - one line from a rank, without its newline
 * @line: not NUL-terminated
 *
 * Return: 0; -EPROTO: no command, or not allowed now; -ENOSPC: too much was put.
 */
int pmi1_line(struct pmi1 *server, unsigned int index, const char *line, size_t len);

/* Answer a rank's initack: tell it the job's size and its rank. */
void pmi1_greet(struct pmi1 *server, unsigned int index);

/*
 * Take the blocks of all nodes, after fence(), and let the ranks go. -EBADMSG: nothing was
 * taken; -ENOMEM: some entries may have been.
 */
int pmi1_fence_done(struct pmi1 *server, const void *data, size_t len);

/* True between the rank's MPI_Init and MPI_Finalize. */
bool pmi1_is_member(const struct pmi1 *server, unsigned int index);
void pmi1_gone(struct pmi1 *server, unsigned int index);
/* True if ranks wait in a barrier for a rank that is gone. */
bool pmi1_is_stuck(const struct pmi1 *server);

/* Parse the first line of a connection by port (initack); -EPROTO. */
int pmi1_parse_initack(const char *line, size_t len, unsigned int *ret_token);

#endif /* STILLPOINT_SHIM_PMI1_H */
