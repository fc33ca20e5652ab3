/* Heads of parquet's pages, in Thrift's compact protocol: fields by number, seven bits of a number per byte. And pages of
   places in a dictionary. */

#include <stddef.h>
#include <string.h>

#include "kernels.h"

/* Fields of a page's head, and of what it says of the kind of page (parquet.thrift). */
enum { PAGE_BYTES = 2, PAGE_PACKED = 3, DATA = 5, DICTIONARY = 7, DATA_2 = 8, FIELDS = 9 };
enum { VALUES = 1, ENCODING = 2, NULLS = 2, ROWS = 3, LEVELS = 5, OTHER_LEVELS = 6 };
enum { LONGEST = 10, DEEPEST = 4 };
static const int64_t NONE = INT64_MIN;

/* Encodings of places in a dictionary, of which the first is the older name. */
enum { OLD_PLACES = 2, PLACES = 8 };
/* Bytes after the content of a page that may be read, and not used. */
enum { BEYOND = 8 };

/* What is left to read; `odd` once there was something that is not understood here. */
typedef struct {
    const uint8_t *at, *end;
    int odd;
} Reader;

static uint8_t byte_of(Reader *reader) {
    if (reader->at >= reader->end) {
        reader->odd = 1;
        return 0;
    }
    return *reader->at++;
}

static uint64_t count_of(Reader *reader) {
    uint64_t found = 0;
    for (int place = 0; place < LONGEST; place++) {
        uint8_t byte = byte_of(reader);
        found |= (uint64_t)(byte & 127) << (7 * place);
        reader->odd |= place == LONGEST - 1 && byte > 1; /* more than 64 bits */
        if (byte < 128)
            return found;
    }
    reader->odd = 1;
    return 0;
}

static int64_t integer_of(Reader *reader) {
    uint64_t found = count_of(reader);
    return (int64_t)(found >> 1) ^ -(int64_t)(found & 1);
}

/* found <- the integers of a record by their fields, NONE where there is none. Of the records in it, `inner` has that which
   says of what kind a page is, and `kind` its field; others are passed over. */
static void record_of(Reader *reader, int64_t *found, int64_t *inner, int64_t *kind, int depth) {
    int64_t number = 0, aside[FIELDS];
    for (int field = 0; found && field < FIELDS; field++)
        found[field] = NONE;
    for (uint8_t head = byte_of(reader); head && !reader->odd; head = byte_of(reader)) {
        number = head >> 4 ? number + (head >> 4) : integer_of(reader);
        int of_page = inner && (number == DATA || number == DICTIONARY || number == DATA_2);
        reader->odd |= number < 0 || number > INT32_MAX || (of_page && (head & 15) != 12);
        switch (head & 15) {
        case 1: case 2: break; /* true and false */
        case 3: byte_of(reader); break;
        case 4: case 5: case 6: {
            int64_t integer = integer_of(reader);
            if (found && number >= 0 && number < FIELDS)
                found[number] = integer;
            break;
        }
        case 8: { /* text */
            uint64_t length = count_of(reader);
            if (length > (uint64_t)(reader->end - reader->at))
                reader->odd = 1;
            else
                reader->at += length;
            break;
        }
        case 12:
            if (depth >= DEEPEST) {
                reader->odd = 1;
            } else if (of_page) {
                reader->odd |= *kind != NONE;
                *kind = number;
                record_of(reader, inner, NULL, NULL, depth + 1);
            } else {
                record_of(reader, aside, NULL, NULL, depth + 1);
            }
            break;
        default: reader->odd = 1;
        }
    }
}

/* How many values the pages from `start` to `end` hold, none of which may have more than `most` bytes; -1 where something is
   not as it should be, or not understood here. */
EXPORT int64_t KERNEL(page_values)(const int8_t *content, int64_t start, int64_t end, int64_t most) {
    Reader reader = {(const uint8_t *)content + start, (const uint8_t *)content + end, 0};
    int64_t total = 0;
    while (reader.at < reader.end) {
        int64_t page[FIELDS], head[FIELDS], kind = NONE;
        record_of(&reader, page, head, &kind, 0);
        int64_t bytes = page[PAGE_BYTES], packed = page[PAGE_PACKED];
        if (reader.odd || bytes < 0 || bytes > most || packed < 0 || packed > reader.end - reader.at)
            return -1;
        reader.at += packed;
        if (kind == NONE)
            continue;
        int64_t values = head[VALUES];
        if (values < 0 || values > INT32_MAX)
            return -1;
        if (kind == DATA_2) {
            int64_t levels = head[LEVELS], others = head[OTHER_LEVELS];
            if (head[NULLS] < 0 || head[NULLS] > values || head[ROWS] < 0 || head[ROWS] > values)
                return -1;
            if (levels < 0 || others < 0 || levels > packed || others > packed - levels)
                return -1;
        }
        total += kind == DICTIONARY ? 0 : values;
    }
    return total;
}

static uint64_t bytes_of(Reader *reader, int n) {
    uint64_t found = 0;
    for (int i = 0; i < n; i++)
        found |= (uint64_t)byte_of(reader) << (8 * i);
    return found;
}

/* to <- what Snappy packed: pieces that stand there, and copies of what came before. Returns whether that fills `to`. */
static int unpacked(Reader reader, uint8_t *restrict to, int64_t size) {
    if (count_of(&reader) != (uint64_t)size)
        return 0;
    int64_t done = 0;
    while (!reader.odd && reader.at < reader.end) {
        uint8_t head = byte_of(&reader);
        int64_t length = (head >> 2) + 1, back = 0;
        switch (head & 3) {
        case 0:
            if (length > 60)
                length = (int64_t)bytes_of(&reader, (int)length - 60) + 1;
            break;
        case 1:
            length = ((head >> 2) & 7) + 4;
            back = (head >> 5) << 8 | byte_of(&reader);
            break;
        default: back = (int64_t)bytes_of(&reader, (head & 3) == 2 ? 2 : 4);
        }
        int literal = (head & 3) == 0;
        if (reader.odd || length > size - done || (literal ? length > reader.end - reader.at : back < 1 || back > done))
            return 0;
        if (literal) {
            memcpy(to + done, reader.at, (size_t)length);
            reader.at += length;
        } else {
            for (int64_t i = 0; i < length; i++) /* it may copy what it has just written */
                to[done + i] = to[done + i - back];
        }
        done += length;
    }
    return !reader.odd && done == size;
}

/* page <- the content of a page as it was before it was packed. */
EXPORT int32_t KERNEL(unpack_page)(
    const int8_t *content, int64_t start, int64_t end, int64_t snappy, int8_t *restrict page, int64_t size
) {
    Reader reader = {(const uint8_t *)content + start, (const uint8_t *)content + end, 0};
    if (snappy)
        return unpacked(reader, (uint8_t *)page, size);
    if (end - start != size)
        return 0;
    memcpy(page, content + start, (size_t)size);
    return 1;
}

/* Whether a page begins by saying, in runs of ones, that none of its values is missing. */
static int none_missing(Reader *reader, int64_t n) {
    int64_t length = (int64_t)bytes_of(reader, 4);
    if (reader->odd || length > reader->end - reader->at)
        return 0;
    Reader levels = {reader->at, reader->at + length, 0};
    reader->at += length;
    while (n > 0) {
        uint64_t head = count_of(&levels);
        if (head & 1 || byte_of(&levels) != 1 || levels.odd)
            return 0;
        n -= (int64_t)(head >> 1 < INT32_MAX ? head >> 1 : INT32_MAX);
    }
    return 1;
}

/* out <- codes[place] of n places in a dictionary, in runs of one of them and in groups of eight; seen[place] <- 1. Returns
   whether there were so many, all of them in the dictionary. */
static int fill_codes(
    Reader *reader, int64_t n, const int32_t *restrict codes, int64_t n_codes, int8_t *restrict seen, int32_t *restrict out
) {
    int width = byte_of(reader);
    if (width > 31)
        return 0;
    uint64_t mask = ((uint64_t)1 << width) - 1;
    while (n > 0) {
        uint64_t head = count_of(reader);
        if (reader->odd || head >> 1 > INT32_MAX)
            return 0;
        int64_t length = (int64_t)(head >> 1) * (head & 1 ? 8 : 1), wanted = length < n ? length : n;
        if (head & 1) {
            if (length / 8 * width > reader->end - reader->at)
                return 0;
            for (int64_t i = 0; i < wanted; i++) {
                uint64_t word;
                memcpy(&word, reader->at + (i * width >> 3), sizeof word);
                int64_t place = (int64_t)(word >> (i * width & 7) & mask);
                if (place >= n_codes)
                    return 0;
                seen[place] = 1;
                out[i] = codes[place];
            }
            reader->at += length / 8 * width;
        } else {
            int64_t place = (int64_t)bytes_of(reader, (width + 7) / 8);
            if (reader->odd || place >= n_codes)
                return 0;
            seen[place] = 1;
            for (int64_t i = 0; i < wanted; i++)
                out[i] = codes[place];
        }
        n -= wanted;
        out += wanted;
    }
    return 1;
}

/* out <- codes[place] of the n values that pages from `start` to `end` hold, all of them places in a dictionary; `optional`:
   whether values could be missing. Scratch: `page`, of `size` bytes. Returns 0 where something is not as it should be, or not
   understood here. */
EXPORT int32_t KERNEL(decode_codes)(
    const int8_t *content, int64_t start, int64_t end, int64_t snappy, int64_t optional, const int32_t *restrict codes,
    int64_t n_codes, int8_t *restrict seen, int8_t *restrict page, int64_t size, int32_t *restrict out, int64_t n
) {
    Reader reader = {(const uint8_t *)content + start, (const uint8_t *)content + end, 0};
    while (reader.at < reader.end) {
        int64_t about[FIELDS], head[FIELDS], kind = NONE;
        record_of(&reader, about, head, &kind, 0);
        int64_t bytes = about[PAGE_BYTES], packed = about[PAGE_PACKED];
        if (reader.odd || bytes < 0 || bytes > size - BEYOND || packed < 0 || packed > reader.end - reader.at)
            return 0;
        int64_t at = reader.at - (const uint8_t *)content;
        reader.at += packed;
        if (kind == DICTIONARY)
            continue;
        int64_t values = head[VALUES];
        if (kind != DATA || values < 0 || values > n || (head[ENCODING] != PLACES && head[ENCODING] != OLD_PLACES))
            return 0;
        if (!KERNEL(unpack_page)(content, at, at + packed, snappy, page, bytes))
            return 0;
        Reader inside = {(const uint8_t *)page, (const uint8_t *)page + bytes, 0};
        if ((optional && !none_missing(&inside, values)) || !fill_codes(&inside, values, codes, n_codes, seen, out))
            return 0;
        out += values;
        n -= values;
    }
    return n == 0;
}
