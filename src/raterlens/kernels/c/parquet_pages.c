/* Heads of parquet's pages, in Thrift's compact protocol: fields by number, seven bits of a number per byte. */

#include <stddef.h>

#include "kernels.h"

/* Fields of a page's head, and of what it says of the kind of page (parquet.thrift). */
enum { PAGE_BYTES = 2, PAGE_PACKED = 3, DATA = 5, DICTIONARY = 7, DATA_2 = 8, FIELDS = 9 };
enum { VALUES = 1, NULLS = 2, ROWS = 3, LEVELS = 5, OTHER_LEVELS = 6 };
enum { LONGEST = 10, DEEPEST = 4 };
static const int64_t NONE = INT64_MIN;

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
