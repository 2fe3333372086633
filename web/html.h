/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A page as it is made: markup of ours, and texts from outside, which are escaped.
 *
 * Names of jobs and files are whatever somebody chose. html_text() and html_textf() are the only
 * ways by which such a text gets into a page. A buffer without memory, or one that was misused,
 * has failed: whatever is put in after that is lost, and html_done() says so.
 */
#ifndef STILLPOINT_WEB_HTML_H
#define STILLPOINT_WEB_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct html {
	char *text;	/* NULL: empty */
	size_t len, size;
	bool failed;
};

/* Append markup of ours as it is; never a text from outside. */
void html_raw(struct html *html, const char *markup);
/* The same with numbers. A format for texts (%s) fails: they might be somebody's. */
void html_rawf(struct html *html, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Append a text from outside. It is right between tags and in an attribute's value with quotes.
 * Control characters become visible, characters that turn the direction of text and bytes that
 * are not UTF-8 become U+FFFD.
 */
void html_text(struct html *html, const char *text);
void html_textf(struct html *html, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Amounts for people: "1.2 GiB", "3.40 ms", a <time>; negative values are a dash. */
void html_bytes(struct html *html, int64_t bytes);
void html_ns(struct html *html, int64_t ns);
void html_time(struct html *html, int64_t seconds);
/* The same into a text of 32 bytes. */
const char *html_bytes_text(int64_t bytes, char text[32]);
const char *html_ns_text(int64_t ns, char text[32]);
const char *html_time_text(int64_t seconds, char text[32]);

/* Hand out the text, which the caller frees; NULL: it has failed. The buffer is empty then. */
char *html_done(struct html *html, size_t *ret_len);

#endif /* STILLPOINT_WEB_HTML_H */
