// SPDX-License-Identifier: GPL-2.0-only
/*
 * A page as it is made; see html.h.
 *
 * Owns the escaping, and the way in which amounts are written. Knows no page and no JSON, and
 * decides nothing: whoever calls html_raw() says that the text is ours.
 */
#include "web/html.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"

#define HTML_MAX	(64u << 20)	/* a page is never longer */

static void html_append(struct html *html, const char *text, size_t len)
{
	size_t size = html->size ? html->size : 4096;
	char *more;

	while (size < html->len + len + 1)
		size *= 2;
	if (html->failed || size > HTML_MAX) {
		html->failed = true;
		return;
	}
	if (size != html->size) {
		more = realloc(html->text, size);
		if (!more) {
			html->failed = true;
			return;
		}
		html->text = more;
		html->size = size;
	}
	memcpy(html->text + html->len, text, len);
	html->len += len;
	html->text[html->len] = '\0';
}

void html_raw(struct html *html, const char *markup)
{
	html_append(html, markup, strlen(markup));
}

/* Does the format take numbers only? */
static bool html_is_of_numbers(const char *format)
{
	while ((format = strchr(format, '%'))) {
		format++;
		format += strspn(format, "0123456789.-+ #*hlzjt");
		if (!*format || !strchr("diuxXfFeEgG%", *format++))
			return false;
	}
	return true;
}

void html_rawf(struct html *html, const char *format, ...)
{
	char text[512];
	va_list ap;
	int len;

	va_start(ap, format);
	len = vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (!html_is_of_numbers(format) || len < 0 || len >= (int)sizeof(text))
		html->failed = true;
	else
		html_append(html, text, (size_t)len);
}

/* --------------------------------------------------------------- escaping */

/* Length of the UTF-8 character at @at, whose code goes to *@ret_code; 0: it is none. */
static size_t html_decode(const unsigned char *at, uint32_t *ret_code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len = at[0] < 0x80 ? 1 : at[0] >> 5 == 6 ? 2 : at[0] >> 4 == 14 ? 3 :
		     at[0] >> 3 == 30 ? 4 : 0;
	uint32_t code = len == 1 ? at[0] : at[0] & (0x7fu >> len);
	size_t i;

	for (i = 1; i < len; i++) {
		if (at[i] >> 6 != 2)
			return 0;
		code = code << 6 | (at[i] & 0x3f);
	}
	if (!len || code < least[len] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	*ret_code = code;
	return len;
}

/* Characters that nobody sees, and that change how others look. */
static bool html_is_hidden(uint32_t code)
{
	return (code >= 0x80 && code < 0xa0) || code == 0x61c || code == 0x200b ||
	       code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2060 && code <= 0x2069) || code == 0xfeff ||
	       (code >= 0xfff9 && code <= 0xfffb) || (code & 0xfffe) == 0xfffe ||
	       (code >= 0xe0000 && code < 0xe1000);
}

static const char *html_entity(uint32_t code)
{
	switch (code) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

void html_text(struct html *html, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	const char *entity;
	uint32_t code;
	size_t len;

	while (*at) {
		len = html_decode(at, &code);
		entity = len ? html_entity(code) : NULL;
		if (entity)
			html_raw(html, entity);
		else if (!len || html_is_hidden(code))
			html_raw(html, "\xef\xbf\xbd");
		else if (code < 0x20 || code == 0x7f)	/* the picture of the control character */
			html_rawf(html, "&#x%x;", code == 0x7f ? 0x2421 : 0x2400 + code);
		else
			html_append(html, (const char *)at, len);
		at += len ? len : 1;
	}
}

void html_textf(struct html *html, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;

	va_start(ap, format);
	if (vasprintf(&text, format, ap) < 0)
		text = NULL;
	va_end(ap);
	if (text)
		html_text(html, text);
	else
		html->failed = true;
}

/* ---------------------------------------------------------------- amounts */

const char *html_bytes_text(int64_t bytes, char text[32])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	double value = (double)bytes;
	unsigned int unit = 0;

	if (bytes < 0)
		return strcpy(text, "–");
	while (value >= 1024 && unit + 1 < ARRAY_SIZE(units)) {
		value /= 1024;
		unit++;
	}
	snprintf(text, 32, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return text;
}

const char *html_ns_text(int64_t ns, char text[32])
{
	if (ns < 0)
		return strcpy(text, "–");
	if (ns < 10000000)
		snprintf(text, 32, "%.2f ms", (double)ns / 1e6);
	else if (ns < 10000000000)
		snprintf(text, 32, "%.0f ms", (double)ns / 1e6);
	else if (ns < 120000000000)
		snprintf(text, 32, "%.1f s", (double)ns / 1e9);
	else if (ns < 7200000000000)
		snprintf(text, 32, "%.1f min", (double)ns / 60e9);
	else
		snprintf(text, 32, "%.1f h", (double)ns / 3600e9);
	return text;
}

static bool html_time_format(int64_t seconds, const char *format, bool utc, char text[32])
{
	time_t when = (time_t)seconds;
	struct tm tm;

	if (seconds <= 0 || !(utc ? gmtime_r(&when, &tm) : localtime_r(&when, &tm)))
		return false;
	return strftime(text, 32, format, &tm) > 0;
}

const char *html_time_text(int64_t seconds, char text[32])
{
	if (!html_time_format(seconds, "%Y-%m-%d %H:%M:%S", false, text))
		strcpy(text, "–");
	return text;
}

void html_bytes(struct html *html, int64_t bytes)
{
	char text[32];

	html_text(html, html_bytes_text(bytes, text));
}

void html_ns(struct html *html, int64_t ns)
{
	char text[32];

	html_text(html, html_ns_text(ns, text));
}

void html_time(struct html *html, int64_t seconds)
{
	char text[32];

	if (!html_time_format(seconds, "%Y-%m-%dT%H:%M:%SZ", true, text)) {
		html_raw(html, "–");
		return;
	}
	html_raw(html, "<time datetime=\"");
	html_text(html, text);
	html_raw(html, "\">");
	html_text(html, html_time_text(seconds, text));
	html_raw(html, "</time>");
}

char *html_done(struct html *html, size_t *ret_len)
{
	char *text = html->text;

	if (html->failed) {
		free(text);
		text = NULL;
	}
	*ret_len = text ? html->len : 0;
	*html = (struct html) { 0 };
	return text;
}
