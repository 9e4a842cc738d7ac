/* How failures are handed on. */
#pragma once

/* In a function that returns -1 where it fails, with the error set: hands on the failure of a call, or that
 * something is not there, or not as it has to be. */
#define THN_TRY(call)     \
    do {                  \
        if ((call) < 0) { \
            return -1;    \
        }                 \
    } while (0)
#define THN_NEED(condition) THN_TRY((condition) ? 0 : -1)

/* The same in a function that returns NULL. */
#define THN_NULL_UNLESS(condition) \
    do {                           \
        if (!(condition)) {        \
            return NULL;           \
        }                          \
    } while (0)
