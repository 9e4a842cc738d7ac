/* How failures are handed on. */
#pragma once

/* In a function that returns -1 where it fails, with the error set: hands on the failure of a call, or that there is no memory. */
#define THN_TRY(call)     \
    do {                  \
        if ((call) < 0) { \
            return -1;    \
        }                 \
    } while (0)
#define THN_NEED(pointer) THN_TRY((pointer) ? 0 : -1)

/* The same in a function that returns NULL. */
#define THN_NULL_UNLESS(condition) \
    do {                           \
        if (!(condition)) {        \
            return NULL;           \
        }                          \
    } while (0)
